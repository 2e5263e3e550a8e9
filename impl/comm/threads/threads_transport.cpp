#include "comm/threads/threads_transport.h"

#include <algorithm>

#include "comm/threads/lobby.h"

namespace halftone {

void ThreadsTransport::begin(uint64_t step) noexcept {
  const std::lock_guard lock(hub_->mutex);
  hub_->member(rank_).step = step;
}

bool ThreadsTransport::has_failed() const noexcept { return hub_->failed_step <= hub_->member(rank_).step; }

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
  const Awaited message{.peer = peer, .is_message = true};
  std::unique_lock lock(hub_->mutex);
  Status status = wait(lock, {&message, 1}, deadline, [&] { return is_ready_now(message); });
  if (!status.ok()) return status;
  Channel& channel = hub_->channel(peer, rank_);
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
    if (Status status = wait_released(lock, peer, deadline); !status.ok()) return status;
  }
  return {};
}

bool ThreadsTransport::is_ready(const Awaited& awaited) noexcept {
  const std::lock_guard lock(hub_->mutex);
  return is_ready_now(awaited);
}

bool ThreadsTransport::is_ready_now(const Awaited& awaited) const noexcept {
  const Channel& in = hub_->channel(awaited.peer, rank_);
  const Channel& out = hub_->channel(rank_, awaited.peer);
  return awaited.is_message ? in.taken < in.sent : out.sent - out.released < kCapacity;
}

Status ThreadsTransport::await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept {
  std::unique_lock lock(hub_->mutex);
  return wait(lock, awaited, deadline, [&] {
    return std::any_of(awaited.begin(), awaited.end(), [&](const Awaited& each) { return is_ready_now(each); });
  });
}

Status ThreadsTransport::await_released(int peer, Deadline deadline) noexcept {
  std::unique_lock lock(hub_->mutex);
  return wait_released(lock, peer, deadline);
}

Status ThreadsTransport::wait_released(std::unique_lock<std::mutex>& lock, int peer, Deadline deadline) noexcept {
  const Awaited all{.peer = peer, .is_message = false};
  const Channel& channel = hub_->channel(rank_, peer);
  return wait(lock, {&all, 1}, deadline, [&] { return channel.released == channel.sent; });
}

int ThreadsTransport::first_that_left(std::span<const Awaited> awaited) const noexcept {
  for (const Awaited& each : awaited) {
    if (hub_->member(each.peer).has_left) return each.peer;
  }
  return -1;
}

// Waits for the condition; what it waits for is true even if one of the peers has left since.
template <class Condition>
Status ThreadsTransport::wait(std::unique_lock<std::mutex>& lock, std::span<const Awaited> awaited, Deadline deadline,
                              Condition condition) noexcept {
  const auto is_over = [&] { return has_failed() || condition() || first_that_left(awaited) >= 0; };
  hub_->member(rank_).changed.wait_until(lock, deadline, is_over);
  if (has_failed()) return hub_->failure;
  if (condition()) return {};
  const int left = first_that_left(awaited);
  if (left >= 0 && !hub_->failure.ok()) return hub_->failure;  // it left because of that
  if (left >= 0) return Status::failure(Code::kPeerLost, "rank %d left the group", names_[left]);
  return Status::failure(Code::kTimeout, "rank %d sent nothing until the deadline", names_[awaited[0].peer]);
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
  hub_->failed_step = std::min(hub_->failed_step, hub_->member(rank_).step);
  for (Member& member : hub_->members) member.changed.notify_one();
  return hub_->failure;
}

void ThreadsTransport::leave() noexcept { leave_hub(*hub_, rank_); }

}  // namespace halftone
