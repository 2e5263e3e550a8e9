#include "comm/threads/threads_transport.h"

#include <algorithm>

#include "comm/threads/lobby.h"

namespace halftone {

void ThreadsTransport::begin(uint64_t operation) noexcept {
  const std::lock_guard lock(hub_->mutex);
  hub_->member(rank_).operation = operation;
}

bool ThreadsTransport::has_failed() const noexcept { return hub_->failed_operation <= hub_->member(rank_).operation; }

Status ThreadsTransport::send(int peer, const Message& message) noexcept {
  const std::lock_guard lock(hub_->mutex);
  if (has_failed()) return hub_->failure;
  Channel& channel = hub_->channel(rank_, peer);
  channel.messages[channel.sent % kCapacity] = message;
  ++channel.sent;
  hub_->member(peer).changed.notify_one();
  return {};
}

Status ThreadsTransport::receive(int peer, Deadline deadline, Message* out) noexcept {
  std::unique_lock lock(hub_->mutex);
  Channel& channel = hub_->channel(peer, rank_);
  if (Status status = wait(lock, peer, deadline, [&] { return channel.taken < channel.sent; }); !status.ok()) {
    return status;
  }
  *out = channel.messages[channel.taken % kCapacity];
  ++channel.taken;
  return {};
}

void ThreadsTransport::release(int peer) noexcept {
  const std::lock_guard lock(hub_->mutex);
  ++hub_->channel(peer, rank_).released;
  hub_->member(peer).changed.notify_one();
}

Status ThreadsTransport::drain(Deadline deadline) noexcept {
  std::unique_lock lock(hub_->mutex);
  for (int peer = 0; peer < hub_->size; ++peer) {
    const Channel& channel = hub_->channel(rank_, peer);
    const auto is_empty = [&] { return channel.released == channel.sent; };
    if (Status status = wait(lock, peer, deadline, is_empty); !status.ok()) return status;
  }
  return {};
}

// Waits for the condition; what it waits for is true even if the peer has left since.
template <class Condition>
Status ThreadsTransport::wait(std::unique_lock<std::mutex>& lock, int peer, Deadline deadline,
                              Condition condition) noexcept {
  const Member& other = hub_->member(peer);
  const auto is_over = [&] { return has_failed() || condition() || other.has_left; };
  hub_->member(rank_).changed.wait_until(lock, deadline, is_over);
  if (has_failed()) return hub_->failure;
  if (condition()) return {};
  if (other.has_left && !hub_->failure.ok()) return hub_->failure;  // it left because of that
  if (other.has_left) return Status::failure(Code::kPeerLost, "rank %d left the group", names_[peer]);
  return Status::failure(Code::kTimeout, "rank %d sent nothing until the deadline", names_[peer]);
}

// A peer that reads a message is computing, or finds the group aborted: it releases the message soon.
void ThreadsTransport::withdraw() noexcept {
  std::unique_lock lock(hub_->mutex);
  for (int peer = 0; peer < hub_->size; ++peer) {
    Channel& channel = hub_->channel(rank_, peer);
    channel.sent = channel.taken;
    hub_->member(rank_).changed.wait(lock, [&] { return channel.released == channel.taken; });
  }
}

Status ThreadsTransport::abort(const Status& reason) noexcept {
  const std::lock_guard lock(hub_->mutex);
  if (hub_->failure.ok()) hub_->failure = reason;
  hub_->failed_operation = std::min(hub_->failed_operation, hub_->member(rank_).operation);
  for (Member& member : hub_->members) member.changed.notify_one();
  return hub_->failure;
}

void ThreadsTransport::leave() noexcept { leave_hub(*hub_, rank_); }

}  // namespace halftone
