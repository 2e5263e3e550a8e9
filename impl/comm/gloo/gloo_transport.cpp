#include "comm/gloo/gloo_transport.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "comm/gloo/sigpipe_guard.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRetryInterval{1};
// A rank that waits for several peers looks for their messages this often: more and more rarely.
constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{1000};

uint64_t checksum_of(const void* data, int64_t bytes) {
  return bytes > 0 ? XXH3_64bits(data, static_cast<size_t>(bytes)) : 0;
}

// Numbers that stand for names must be among them, because a message tells the peer's call.
bool is_known(const Header& header) {
  const bool reduces = header.operation == Operation::kAllReduce || header.operation == Operation::kReduceScatter;
  return header.operation >= Operation::kAllReduce && header.operation <= Operation::kReceive &&
         is_valid(header.dtype) &&
         (!reduces || (header.argument >= 0 && header.argument <= static_cast<int32_t>(ReduceOp::kMax)));
}

}  // namespace

GlooTransport::GlooTransport(std::shared_ptr<Mesh> mesh, const GroupOptions& options)
    : rank_(options.rank),
      size_(options.size),
      names_(options),
      checks_data_(options.checks_data != 0),
      mesh_(std::move(mesh)) {
  peers_.resize(static_cast<size_t>(size_));
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) peers_[static_cast<size_t>(peer)] = std::make_unique<GlooPeer>(*mesh_, peer);
  }
}

// The connections end before the buffers, which Gloo must not find missing.
GlooTransport::~GlooTransport() {
  const SigpipeGuard no_sigpipe;
  if (watch_ != nullptr) watch_->stop();
  close_all(reason_to_leave());
}

Status GlooTransport::start(const GroupOptions& options, Deadline deadline) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    Status status = call_gloo(peer, [&] { peer_at(peer).await_messages(); });
    if (!status.ok()) return status;
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    if (Status status = await(peer, *peer_at(peer).hello, deadline); !status.ok()) return status;
  }
  if (options.heartbeat_ns == 0 || size_ == 1) return {};
  watch_ = std::make_unique<Watch>(options, static_cast<Watch::Listener&>(*this));
  watch_->start();
  return {};
}

void GlooTransport::begin(uint64_t step) noexcept {
  const std::lock_guard lock(mutex_);
  step_ = step;
}

Status GlooTransport::failure() noexcept {
  const std::lock_guard lock(mutex_);
  return has_failed() ? failure_ : Status{};
}

// A peer that has left in good order needs nothing more of this rank.
template <class Action>
Status GlooTransport::call_gloo(int peer, Action&& action) noexcept {
  try {
    if (!peer_at(peer).is_gone) action();
    return {};
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory for a message to rank %d", names_[peer]);
  } catch (const std::exception& error) {
    examine();
    if (Status status = failure(); !status.ok() || peer_at(peer).is_gone) return status;
    return Status::failure(Code::kInternal, "Gloo refused a message to rank %d: %.150s", names_[peer], error.what());
  }
}

Status GlooTransport::await(int peer, MeshBuffer& receiver, Deadline deadline) noexcept {
  for (bool was_gone = false;;) {
    if (Status status = failure(); !status.ok()) return status;
    bool is_broken = false;
    try {
      if (alarm_.wait_received(receiver)) return {};
    } catch (const std::exception&) {
      is_broken = true;
    }
    const bool is_late = Clock::now() >= deadline;
    examine();
    if (Status status = failure(); !status.ok()) return status;
    // The end of a connection comes after all that was sent before, which the next wait finds.
    if (was_gone) return reason_of_leaving(peer);
    was_gone = peer_at(peer).is_gone;
    if (was_gone) continue;
    if (is_late) {
      return Status::failure(Code::kTimeout, "rank %d waited for rank %d until the deadline", names_[rank_],
                             names_[peer]);
    }
    if (is_broken) std::this_thread::sleep_for(kRetryInterval);  // Gloo is just about to tell the other buffers
  }
}

Status GlooTransport::reason_of_leaving(int peer) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return failure_;  // it left because of a later operation's
  return Status::failure(Code::kPeerLost, "rank %d left the group", names_[peer]);
}

// Looks for connections that have ended. A reason that a rank gave goes before a connection that just ended.
void GlooTransport::examine() noexcept {
  std::vector<int>::size_type unexplained = 0;
  int lost = -1;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || peer_at(peer).is_gone || !Alarm::has_ended(*peer_at(peer).silence)) continue;
    GlooPeer& other = peer_at(peer);
    other.is_gone = true;
    if (other.goodbye_in.mark == kGoodbyeMark) {
      take_notice(other.goodbye_in.notice);
    } else if (unexplained++ == 0) {
      lost = peer;
    }
  }
  if (lost < 0) return;
  take_notice({0, rank_, Status::failure(Code::kPeerLost, "rank %d is lost: its connection ended", names_[lost])});
}

// The failure that ends the group with the earlier operation counts; among equal ones, the first.
void GlooTransport::take_notice(const Notice& notice) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_failed() || notice.operation >= failed_step_) return;
  failure_ = notice.reason();
  failed_step_ = notice.operation;
}

Status GlooTransport::send(int peer, const Message& message) noexcept {
  const std::lock_guard use(use_);
  if (Status status = failure(); !status.ok()) return status;
  const uint64_t checksum = checks_data_ ? checksum_of(message.data, message.bytes) : 0;
  ++peer_at(peer).sent;
  return call_gloo(peer, [&] { peer_at(peer).send(message, checksum); });
}

void GlooTransport::expect(int peer, void* place, int64_t bytes) noexcept {
  GlooPeer& other = peer_at(peer);
  other.place = place;
  other.expected = bytes;
}

Status GlooTransport::receive(int peer, Deadline deadline, Message* out) noexcept {
  const std::lock_guard use(use_);
  GlooPeer& other = peer_at(peer);
  Status status = receive_head(peer, deadline);
  if (status.ok()) status = receive_data(peer, deadline);
  if (!status.ok()) return status;
  const Head& head = other.head();
  out->header = head.header;
  out->bytes = head.bytes;
  out->data = head.bytes <= kInlineBytes ? head.data : other.data_in != nullptr ? other.data_in->ptr : nullptr;
  if (checks_data_ && out->data != nullptr && checksum_of(out->data, out->bytes) != head.checksum) {
    return Status::failure(Code::kComm, "a message of %lld bytes from rank %d to rank %d was changed in transit",
                           static_cast<long long>(head.bytes), names_[peer], names_[rank_]);
  }
  return call_gloo(peer, [&] { other.confirmations->send(peer, kConfirmationSlot, 0, 0); });
}

Status GlooTransport::receive_head(int peer, Deadline deadline) noexcept {
  GlooPeer& other = peer_at(peer);
  Status status;
  if (!std::exchange(other.has_head, false)) status = await(peer, *other.heads_received, deadline);
  return status.ok() ? start_data(peer) : status;
}

// Data of another size than expected stays where it is: the comparison of the calls finds the difference.
Status GlooTransport::start_data(int peer) noexcept {
  GlooPeer& other = peer_at(peer);
  const Head& head = other.head();
  if (!is_known(head.header) || head.bytes < 0) {
    return Status::failure(Code::kComm, "rank %d sent a message that no operation sends", names_[peer]);
  }
  if (head.bytes <= kInlineBytes || head.bytes != other.expected) return {};
  return call_gloo(peer, [&] {
    void* place = other.place;
    if (place == nullptr && other.scratch_bytes < head.bytes) {
      other.scratch_bytes = 0;
      other.scratch.reset(new std::byte[static_cast<size_t>(head.bytes)]);
      other.scratch_bytes = head.bytes;
    }
    if (place == nullptr) place = other.scratch.get();
    other.data_in = mesh_->createUnboundBuffer(place, static_cast<size_t>(head.bytes));
    other.data_in->recv(peer, kDataSlot, 0, static_cast<size_t>(head.bytes));
  });
}

Status GlooTransport::receive_data(int peer, Deadline deadline) noexcept {
  GlooPeer& other = peer_at(peer);
  return other.data_in != nullptr ? await(peer, *other.data_in, deadline) : Status{};
}

void GlooTransport::release(int peer) noexcept {
  const std::lock_guard use(use_);
  GlooPeer& other = peer_at(peer);
  other.data_in.reset();
  other.place = nullptr;
  other.expected = -1;
  if (is_closed_) return;
  const size_t index = other.taken++ % kCapacity;
  // A failure shows in the next call.
  call_gloo(peer, [&] { other.await_head(index); });
}

Status GlooTransport::drain(Deadline deadline) noexcept {
  const std::lock_guard use(use_);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const Status status = await_confirmations(peer, deadline);
    // A peer that has left after this operation needs nothing more.
    const bool has_left = status.code == Code::kPeerLost && peer_at(peer).is_gone && failure().ok();
    if (!status.ok() && !has_left) return status;
    peer_at(peer).forget_sent();
  }
  return {};
}

Status GlooTransport::await_confirmations(int peer, Deadline deadline) noexcept {
  GlooPeer& other = peer_at(peer);
  while (other.confirmed < other.sent) {
    Status status = await(peer, *other.confirmations, deadline);
    if (!status.ok()) return status;
    ++other.confirmed;
    status = call_gloo(peer, [&] { other.await_next_confirmation(); });
    if (!status.ok()) return status;
  }
  return {};
}

Status GlooTransport::await_released(int peer, Deadline deadline) noexcept {
  const std::lock_guard use(use_);
  Status status = await_confirmations(peer, deadline);
  if (status.ok()) peer_at(peer).forget_sent();
  return status;
}

// Gloo keeps messages that the peer does not await yet.
bool GlooTransport::is_ready(const Awaited& awaited) noexcept {
  return !awaited.is_message || peer_at(awaited.peer).has_message();
}

Status GlooTransport::await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept {
  const std::lock_guard use(use_);
  if (awaited.size() > 1) return await_one_of(awaited, deadline);
  GlooPeer& other = peer_at(awaited[0].peer);
  Status status = await(awaited[0].peer, *other.heads_received, deadline);
  other.has_head = status.ok();
  return status;
}

// Gloo can wait for one peer alone.
Status GlooTransport::await_one_of(std::span<const Awaited> awaited, Deadline deadline) noexcept {
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    if (Status status = failure(); !status.ok()) return status;
    const auto is_gone = [&](const Awaited& each) { return peer_at(each.peer).is_gone; };
    const auto gone = std::find_if(awaited.begin(), awaited.end(), is_gone);
    if (std::any_of(awaited.begin(), awaited.end(), [&](const Awaited& each) { return is_ready(each); })) return {};
    if (gone != awaited.end()) return reason_of_leaving(gone->peer);
    if (Clock::now() >= deadline) {
      return Status::failure(Code::kTimeout, "rank %d waited for rank %d until the deadline", names_[rank_],
                             names_[awaited[0].peer]);
    }
    std::this_thread::sleep_for(pause);
    examine();
  }
}

void GlooTransport::withdraw() noexcept {
  const std::lock_guard use(use_);
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    peer->data_in.reset();
    peer->forget_sent();
  }
}

Status GlooTransport::abort(const Status& reason) noexcept {
  const CancellationGuard no_cancellation;
  const SigpipeGuard no_sigpipe;
  Notice notice;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = reason;
    failed_step_ = std::min(failed_step_, step_);
    notice = Notice(failed_step_, rank_, failure_);
  }
  alarm_.ring();
  if (watch_ != nullptr) watch_->announce(notice);
  const std::lock_guard use(use_);
  close_all(notice);
  const std::lock_guard lock(mutex_);
  return failure_;
}

void GlooTransport::on_notice(const Notice& notice) noexcept {
  take_notice(notice);
  bool fails_now = false;
  {
    const std::lock_guard lock(mutex_);
    fails_now = has_failed();
  }
  if (fails_now) abort(notice.reason());
}

void GlooTransport::leave() noexcept {
  const CancellationGuard no_cancellation;
  const SigpipeGuard no_sigpipe;
  if (watch_ != nullptr) watch_->stop();
  const std::lock_guard use(use_);
  close_all(reason_to_leave());
}

// A failure in a later step than the others run is why this rank leaves. Without one it lacks in the next operation of
// all ranks; messages between others do not need it.
Notice GlooTransport::reason_to_leave() noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok()) return {step_, rank_, failure_};
  return {step_ + 1, rank_, Status::failure(Code::kPeerLost, "rank %d left the group", names_[rank_])};
}

// REQUIRES: use_ is held, or no other thread uses the transport
void GlooTransport::close_all(const Notice& notice) noexcept {
  if (is_closed_) return;
  is_closed_ = true;
  say_goodbye(notice);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    mesh_->getPair(peer).reset();  // what is written already is sent before the connection ends
    peer_at(peer).is_gone = true;
  }
}

// The connections of ranks that are gone throw. The others get the message before the end of the connection.
void GlooTransport::say_goodbye(const Notice& notice) noexcept {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    GlooPeer& other = peer_at(peer);
    other.goodbye_out = {.mark = kGoodbyeMark, .notice = notice};
    try {
      other.goodbye_sent->send(peer, kGoodbyeSlot, 0, sizeof(Goodbye));
    } catch (const std::exception&) {
    }
  }
}

}  // namespace halftone
