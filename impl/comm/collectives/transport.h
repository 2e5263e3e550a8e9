// Messages between the ranks of one group: what the collectives need of threads, or of a network. Used by one thread of
// each rank; abort() is safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "comm/collectives/header.h"

namespace halftone {

using Deadline = std::chrono::steady_clock::time_point;

struct Message {
  Header header;
  const void* data = nullptr;
  int64_t bytes = 0;
};

class Transport {
 public:
  // Messages to one peer that may be on their way.
  static constexpr int kCapacity = 2;

  virtual ~Transport() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  // Tells the number of the operation to which the following calls belong, or which comes next.
  virtual void begin(uint64_t operation) noexcept = 0;
  // Offers a message without waiting. Nobody may write its data until drain() or withdraw() has returned.
  // REQUIRES: fewer than kCapacity messages to this peer since the last drain
  virtual Status send(int peer, const Message& message) noexcept = 0;
  // Waits for the peer's next message, whose data is valid until release(peer). Returns TIMEOUT, PEER_LOST if the peer
  // has left, and the reason if the group was aborted.
  virtual Status receive(int peer, Deadline deadline, Message* out) noexcept = 0;
  virtual void release(int peer) noexcept = 0;
  // Waits until the peers have released every message of this rank. Errors as receive.
  virtual Status drain(Deadline deadline) noexcept = 0;
  // Takes the messages of this rank back, and waits until no peer reads one. REQUIRES: the group was aborted
  virtual void withdraw() noexcept = 0;

  // Makes every call on every rank return `reason`, or that of the first abort; returns the one that holds. Operations
  // before this rank's are left alone: this rank has finished them, so the others have all that they need to do so.
  virtual Status abort(const Status& reason) noexcept = 0;
  // Tells the peers that this rank takes part in nothing more.
  virtual void leave() noexcept = 0;
};

}  // namespace halftone
