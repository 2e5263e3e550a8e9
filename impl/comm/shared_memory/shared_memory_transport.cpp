#include "comm/shared_memory/shared_memory_transport.h"

#include <algorithm>
#include <utility>

#include "comm/shared_memory/bell.h"
#include "core/allowed_cpus.h"

namespace halftone {
namespace {

// Measured (tests/bench/README.md): slices from 0.5 to 4 MiB take equally long, and smaller ones longer.
constexpr size_t kSliceBytes = size_t{1} << 20;
// A sleep and a call to wake up take about as long.
constexpr std::chrono::nanoseconds kSpin = std::chrono::microseconds(20);

// In a slice a rank sends at most two messages to each other rank.
size_t half_bytes(int ranks) noexcept { return DataArea::half_bytes(kSliceBytes, 2 * ranks); }

void pause_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

SharedMemoryTransport::SharedMemoryTransport(const GroupOptions& options)
    : rank_(options.rank),
      size_(options.size),
      names_(options),
      spins_(options.size <= allowed_cpus()),
      own_(Segment::create(options.size, DataArea::kHalves * half_bytes(options.size))),
      area_(own_, half_bytes(options.size)),
      progress_(static_cast<size_t>(options.size)),
      others_(call_roll(options, own_)) {}

int64_t SharedMemoryTransport::slice_bytes() const noexcept { return static_cast<int64_t>(kSliceBytes); }

Status SharedMemoryTransport::send(int peer, const Message& message) noexcept {
  if (has_failed()) return failure();
  uint64_t offset = 0;
  if (Status status = place(message, &offset); !status.ok()) return status;
  Outbox& outbox = own_.outbox(peer);
  Progress& with = progress(peer);
  outbox.envelopes[with.sent % Outbox::kEnvelopes] = {
      .header = message.header, .offset = offset, .bytes = static_cast<uint64_t>(message.bytes)};
  outbox.sent.store(++with.sent, std::memory_order_release);
  ring(segment(peer).control());
  return {};
}

// Equal headers of one operation tell that the data has not changed in between. Between two drains a batch may send
// more than a half holds: then the other half is used as soon as the peers have read it, and blocks until then.
Status SharedMemoryTransport::place(const Message& message, uint64_t* out_offset) noexcept {
  if (message.bytes == 0) return {};
  const bool is_placed = message.data == last_.data && message.bytes == last_.bytes && message.header == last_.header;
  if (!is_placed) {
    const int next = (half_ + 1) % DataArea::kHalves;
    if (!area_.has_room(static_cast<size_t>(message.bytes)) && has_been_read(next)) use_half(next);
    Status status = area_.put(message.data, static_cast<size_t>(message.bytes), &last_offset_);
    if (!status.ok()) return status;
    last_ = message;
  }
  *out_offset = last_offset_;
  return {};
}

Status SharedMemoryTransport::receive(int peer, Deadline deadline, Message* out) noexcept {
  const Awaited message{.peer = peer, .is_message = true};
  Status status = wait({&message, 1}, deadline, [&] { return is_ready(message); });
  if (!status.ok()) return status;
  Progress& with = progress(peer);
  const Envelope envelope = segment(peer).outbox(rank_).envelopes[with.taken % Outbox::kEnvelopes];
  ++with.taken;
  return open(peer, envelope, out);
}

// The envelope is a copy, which the peer cannot change any more.
Status SharedMemoryTransport::open(int peer, const Envelope& envelope, Message* out) noexcept {
  SharedRank& other = others_[static_cast<size_t>(peer)];
  const std::byte* data = envelope.bytes > 0 ? other.segment.find(envelope.offset, envelope.bytes) : nullptr;
  if (!is_valid(envelope.header) || (envelope.bytes > 0 && data == nullptr)) {
    return Status::failure(Code::kComm, "rank %d sent a message that is damaged", names_[peer]);
  }
  *out = {.header = envelope.header, .data = data, .bytes = static_cast<int64_t>(envelope.bytes)};
  return {};
}

void SharedMemoryTransport::release(int peer) noexcept {
  own_.inbox(peer).released.store(++progress(peer).released, std::memory_order_release);
  ring(segment(peer).control());
}

Status SharedMemoryTransport::drain(Deadline deadline) noexcept {
  const int next = (half_ + 1) % DataArea::kHalves;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    const Awaited room{.peer = peer, .is_message = false};
    const uint64_t before = progress(peer).sent_of_half[next];
    const auto is_free = [&] { return released_by(peer) >= before; };
    if (Status status = wait({&room, 1}, deadline, is_free); !status.ok()) return status;
  }
  use_half(next);
  return {};
}

uint64_t SharedMemoryTransport::released_by(int peer) const noexcept {
  return segment(peer).inbox(rank_).released.load(std::memory_order_acquire);
}

bool SharedMemoryTransport::has_been_read(int half) noexcept {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank_ && released_by(peer) < progress(peer).sent_of_half[half]) return false;
  }
  return true;
}

// REQUIRES: has_been_read(half)
void SharedMemoryTransport::use_half(int half) noexcept {
  for (Progress& with : progress_) with.sent_of_half[half_] = with.sent;
  half_ = half;
  area_.use_half(half);
  last_ = {};
}

bool SharedMemoryTransport::is_ready(const Awaited& awaited) noexcept {
  const Progress& with = progress(awaited.peer);
  if (!awaited.is_message) return with.sent - released_by(awaited.peer) < kCapacity;
  return segment(awaited.peer).outbox(rank_).sent.load(std::memory_order_acquire) > with.taken;
}

Status SharedMemoryTransport::await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept {
  return wait(awaited, deadline, [&] {
    return std::any_of(awaited.begin(), awaited.end(), [&](const Awaited& each) { return is_ready(each); });
  });
}

Status SharedMemoryTransport::await_released(int peer, Deadline deadline) noexcept {
  const Awaited all{.peer = peer, .is_message = false};
  return wait({&all, 1}, deadline, [&] { return released_by(peer) >= progress(peer).sent; });
}

int SharedMemoryTransport::first_that_left(std::span<const Awaited> awaited) const noexcept {
  for (const Awaited& each : awaited) {
    const std::atomic<Presence>& presence = segment(each.peer).control().presence;
    if (presence.load(std::memory_order_acquire) != Presence::kHere) return each.peer;
  }
  return -1;
}

int SharedMemoryTransport::first_that_ended(std::span<const Awaited> awaited) const noexcept {
  for (const Awaited& each : awaited) {
    if (!others_[static_cast<size_t>(each.peer)].process.is_alive()) return each.peer;
  }
  return -1;
}

// A condition that holds counts even if a peer has left or ended since.
template <class Condition>
Status SharedMemoryTransport::wait(std::span<const Awaited> awaited, Deadline deadline, Condition condition) noexcept {
  int ended = -1;
  if (spins_) spin([&] { return has_failed() || condition(); });
  while (true) {
    const uint32_t heard = listen(own_.control());
    const int left = first_that_left(awaited);
    if (has_failed()) return failure();
    if (condition()) return {};
    if (left >= 0) return reason_to_leave(left);
    if (ended >= 0) return Status::failure(Code::kPeerLost, "rank %d is lost: its process has ended", names_[ended]);
    const auto remaining = deadline - std::chrono::steady_clock::now();
    if (remaining.count() <= 0) {
      return Status::failure(Code::kTimeout, "rank %d took part in nothing until the deadline",
                             names_[awaited[0].peer]);
    }
    const bool has_rung = sleep(own_.control(), heard, std::min<std::chrono::nanoseconds>(remaining, kLongestSleep));
    ended = has_rung ? -1 : first_that_ended(awaited);
  }
}

// A rank that has seen the group fail in a later step left because of that.
Status SharedMemoryTransport::reason_to_leave(int peer) const noexcept {
  if (segment(0).control().failed_rank.load(std::memory_order_acquire) != 0) return failure();
  return Status::failure(Code::kPeerLost, "rank %d left the group", names_[peer]);
}

template <class Condition>
bool SharedMemoryTransport::spin(Condition condition) const noexcept {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (condition()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

bool SharedMemoryTransport::has_failed() const noexcept {
  return segment(0).control().failed_step.load(std::memory_order_acquire) <=
         step_.load(std::memory_order_relaxed);
}

Status SharedMemoryTransport::failure() const noexcept {
  const uint32_t rank = segment(0).control().failed_rank.load(std::memory_order_acquire) - 1;
  if (rank >= static_cast<uint32_t>(size_))
    return Status::failure(Code::kComm, "the shared memory of rank %d is damaged", names_[0]);
  return reason_of(segment(static_cast<int>(rank)).control());
}

// The reason is complete before others can find it, so that a rank that is killed here leaves no half of one.
Status SharedMemoryTransport::abort(const Status& reason) noexcept {
  {
    const std::lock_guard lock(abort_mutex_);
    if (!has_reason_) own_.control().failure = reason;
    has_reason_ = true;
  }
  SegmentControl& first = segment(0).control();
  uint32_t no_rank = 0;
  first.failed_rank.compare_exchange_strong(no_rank, static_cast<uint32_t>(rank_) + 1, std::memory_order_acq_rel);
  const uint64_t step = step_.load(std::memory_order_relaxed);
  uint64_t failed = first.failed_step.load(std::memory_order_relaxed);
  while (step < failed &&
         !first.failed_step.compare_exchange_weak(failed, step, std::memory_order_acq_rel)) {
  }
  ring_all();
  return failure();
}

void SharedMemoryTransport::leave() noexcept {
  own_.control().presence.store(Presence::kLeft, std::memory_order_release);
  ring_all();
}

void SharedMemoryTransport::ring_all() noexcept {
  for (int rank = 0; rank < size(); ++rank) ring(segment(rank).control());
}

}  // namespace halftone
