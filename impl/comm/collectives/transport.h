// Messages between the ranks of one group: what the collectives need of threads, or of a network. Used by one thread of
// each rank; abort() is safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "comm/collectives/header.h"

namespace halftone {

using Deadline = std::chrono::steady_clock::time_point;

struct Message {
  Header header;
  const void* data = nullptr;
  int64_t bytes = 0;
};

// A need of a batch of messages, which waits for a peer.
struct Awaited {
  int peer;
  bool is_message;  // the peer's next message; else room to send it one more

  bool operator==(const Awaited&) const = default;
};

class Transport {
 public:
  // Messages to one peer that may be in flight.
  static constexpr int kCapacity = 4;

  virtual ~Transport() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // The names of the group's ranks in messages.
  virtual const RankNames& names() const noexcept = 0;
  // An operation in which a rank sends more bytes than this runs in slices, each with a drain(). Equal on all ranks.
  virtual int64_t slice_bytes() const noexcept { return INT64_MAX; }

  // Tells if peers read one message's data at the same time, so that it takes no longer to send it to all than to one.
  virtual bool shares_memory() const noexcept { return false; }

  // Tells the step to which the following calls belong: 2n in the nth operation of all ranks, counted from 1, and 2n + 1
  // after it, where pairs of ranks may exchange messages. The first step is 1.
  virtual void begin(uint64_t step) noexcept = 0;
  // Offers a message without waiting. The caller may not write its data until drain() or withdraw() has returned.
  // REQUIRES: fewer than kCapacity messages to this peer since the last drain, or is_ready() for room
  virtual Status send(int peer, const Message& message) noexcept = 0;
  // Tells before receive() how many bytes the peer's next message has if the ranks agree, and where the data may
  // arrive; null leaves that to the transport. A network uses it, which saves a copy.
  virtual void expect(int, void*, int64_t) noexcept {}
  // Waits for the peer's next message, whose data is valid until release(peer). Returns TIMEOUT, PEER_LOST if the peer
  // has left, and the reason if the group was aborted. A message of another size than expected may come without data.
  virtual Status receive(int peer, Deadline deadline, Message* out) noexcept = 0;
  virtual void release(int peer) noexcept = 0;
  // Waits until the data of every message of this rank may be written again, and there is room for kCapacity new
  // messages to each peer: until the peers have released them, or for as long as a transport that copies them needs.
  // Errors as receive.
  virtual Status drain(Deadline deadline) noexcept = 0;
  // For batches, which exchange messages with whichever peer is ready. Returns true if receive() has the message, or
  // send() the room, without waiting.
  virtual bool is_ready(const Awaited& awaited) noexcept = 0;
  // Waits until one is ready. Errors as receive. REQUIRES: `awaited` is not empty
  virtual Status await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept = 0;
  // Waits until the peer has released every message of this rank to it. Errors as receive.
  virtual Status await_released(int peer, Deadline deadline) noexcept = 0;
  // Takes the messages of this rank back, and waits until no peer reads one. REQUIRES: the group was aborted
  virtual void withdraw() noexcept = 0;

  // Makes every call on every rank return `reason`, or that of the first abort; returns the one that holds. Operations
  // before this rank's are left alone: this rank has finished them, so the others have all that they need to do so.
  virtual Status abort(const Status& reason) noexcept = 0;
  // Tells the peers that this rank takes part in nothing more.
  virtual void leave() noexcept = 0;
};

}  // namespace halftone
