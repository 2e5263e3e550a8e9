// The words at the beginning of a rank's segment, which the other ranks map. All ranks run the same build. A rank
// trusts nothing that another wrote: it copies values out once, and checks the copy.
#pragma once

#include <atomic>
#include <cstdint>

#include "comm/collectives/transport.h"

namespace halftone {

// Words that different ranks write often must not share a line of the cache.
inline constexpr size_t kCacheLine = 64;
inline constexpr size_t kPageBytes = 4096;

enum class Presence : uint32_t {
  kHere,
  kLeft,    // after the group was created
  kGaveUp,  // before
};

struct SegmentControl {
  uint64_t nonce;  // a random number that no other segment has

  // The owner sleeps on the bell. Every rank rings it after a change that the owner may wait for.
  alignas(kCacheLine) std::atomic<uint32_t> bell;
  std::atomic<uint32_t> is_asleep;

  alignas(kCacheLine) std::atomic<Presence> presence;
  // The owner's reason to give up or to abort: written once, before `presence` or failed_rank tells of it.
  Status failure;

  // In rank 0's segment, for all ranks: the first rank that aborted the group plus one, and the first step that
  // fails. 0 and UINT64_MAX if none did.
  alignas(kCacheLine) std::atomic<uint32_t> failed_rank;
  std::atomic<uint64_t> failed_step;
};

// A message. Its data is in the sender's segment.
struct Envelope {
  Header header;
  uint64_t offset;  // from the beginning of the data
  uint64_t bytes;
};

// The owner's messages to one other rank. The owner alone writes.
struct alignas(kCacheLine) Outbox {
  // Those since the last drain(), and those since the one before.
  static constexpr uint64_t kEnvelopes = 2 * Transport::kCapacity;
  std::atomic<uint64_t> sent;
  Envelope envelopes[kEnvelopes];
};

// The owner's progress with the messages of one other rank. The owner alone writes.
struct alignas(kCacheLine) Inbox {
  std::atomic<uint64_t> released;
  std::atomic<uint64_t> mapped;  // the nonce of the other rank's segment, once the owner has mapped it
};

// A copy of a header that another rank wrote has values that its members can have.
bool is_valid(const Header& header) noexcept;

// A copy of the owner's reason to fail.
Status reason_of(const SegmentControl& control) noexcept;

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "a lock of one process would not hold in another");

}  // namespace halftone
