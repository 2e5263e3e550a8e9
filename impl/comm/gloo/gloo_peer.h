// The connection of a transport over Gloo to one other rank: the heads and data under way in both directions. Used by
// one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/collectives/transport.h"
#include "comm/control/notice.h"
#include "comm/gloo/mesh.h"

namespace halftone {

// Gloo matches messages of one slot in their order.
enum Slot : uint64_t { kHeadSlot, kDataSlot, kConfirmationSlot, kGoodbyeSlot, kHelloSlot, kSilentSlot };

// Data up to this size travels in the head, which saves it a round trip.
inline constexpr int64_t kInlineBytes = 4096;
inline constexpr uint64_t kGoodbyeMark = 0x6c6c6577657261ff;

struct Head {
  uint64_t mark;  // not 0 once the head is there
  Header header;
  int64_t bytes;
  uint64_t checksum;
  std::byte data[kInlineBytes];
};

struct Goodbye {
  uint64_t mark = 0;
  Notice notice;
};

struct GlooPeer {
  static constexpr size_t kCapacity = Transport::kCapacity;

  GlooPeer(Mesh& mesh, int rank);

  // These throw Gloo's errors and OUT_OF_MEMORY.
  void await_messages();
  void await_head(size_t index);
  // The message is the last one that `sent` counts.
  void send(const Message& message, uint64_t checksum);
  // Follows each confirmation.
  void await_next_confirmation();

  const Head& head() const { return heads_in[taken % kCapacity]; }
  bool has_message() const noexcept;
  // REQUIRES: the peer has confirmed all messages, or its connection has ended
  void forget_sent() noexcept;

  // A message that is sent while kCapacity others are not confirmed.
  struct Spare {
    explicit Spare(Mesh& mesh) : head_sent(mesh.createUnboundBuffer(&head, sizeof head)) {}

    Head head;
    const std::unique_ptr<MeshBuffer> head_sent;
    std::unique_ptr<MeshBuffer> data;
  };

  Mesh& mesh;
  const int rank;
  std::unique_ptr<Head[]> heads_in;
  std::unique_ptr<Head[]> heads_out;
  Goodbye goodbye_in;
  Goodbye goodbye_out;
  const std::unique_ptr<MeshBuffer> heads_received;
  const std::unique_ptr<MeshBuffer> heads_sent;
  const std::unique_ptr<MeshBuffer> confirmations;
  const std::unique_ptr<MeshBuffer> goodbye_received;
  const std::unique_ptr<MeshBuffer> goodbye_sent;
  const std::unique_ptr<MeshBuffer> hello;
  const std::unique_ptr<MeshBuffer> silence;  // waits for a message that never comes, so it learns of the end
  bool is_gone = false;

  uint64_t sent = 0;
  uint64_t confirmed = 0;
  std::unique_ptr<MeshBuffer> data_out[kCapacity];
  std::vector<std::unique_ptr<Spare>> spares;
  uint64_t extra_confirmations = 0;  // that are awaited beyond kCapacity

  uint64_t taken = 0;     // heads that were received and released
  bool has_head = false;  // the next one was waited for, and is there
  void* place = nullptr;
  int64_t expected = -1;  // bytes of the next message; -1 if unknown
  std::unique_ptr<MeshBuffer> data_in;
  std::unique_ptr<std::byte[]> scratch;
  int64_t scratch_bytes = 0;
};

}  // namespace halftone
