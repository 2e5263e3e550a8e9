#include "comm/gloo/gloo_transport.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "comm/gloo/sigpipe_guard.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

// Gloo matches messages of one slot in their order.
enum Slot : uint64_t { kHeadSlot, kDataSlot, kConfirmationSlot, kGoodbyeSlot, kHelloSlot, kSilentSlot };

// Data up to this size travels in the head, which saves it a round trip.
constexpr int64_t kInlineBytes = 4096;
constexpr std::chrono::milliseconds kRetryInterval{1};
constexpr uint64_t kGoodbyeMark = 0x6c6c6577657261ff;

struct Head {
  Header header;
  int64_t bytes;
  uint64_t checksum;
  std::byte data[kInlineBytes];
};
constexpr int64_t kHeadBytes = offsetof(Head, data);

struct Goodbye {
  uint64_t mark = 0;
  Notice notice;
};

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

// The connection to one rank, used by one thread at a time.
struct GlooTransport::Peer {
  explicit Peer(Mesh& mesh)
      : heads_in(new Head[kCapacity]),
        heads_out(new Head[kCapacity]),
        heads_received(mesh.createUnboundBuffer(heads_in.get(), sizeof(Head) * kCapacity)),
        heads_sent(mesh.createUnboundBuffer(heads_out.get(), sizeof(Head) * kCapacity)),
        confirmations(mesh.createUnboundBuffer(nullptr, 0)),
        goodbye_received(mesh.createUnboundBuffer(&goodbye_in, sizeof goodbye_in)),
        goodbye_sent(mesh.createUnboundBuffer(&goodbye_out, sizeof goodbye_out)),
        hello(mesh.createUnboundBuffer(nullptr, 0)),
        silence(mesh.createUnboundBuffer(nullptr, 0)) {}

  const Head& head() const { return heads_in[taken % kCapacity]; }

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

  uint64_t taken = 0;  // heads that were received and released
  void* place = nullptr;
  int64_t expected = -1;  // bytes of the next message; -1 if unknown
  std::unique_ptr<MeshBuffer> data_in;
  std::unique_ptr<std::byte[]> scratch;
  int64_t scratch_bytes = 0;
};

GlooTransport::GlooTransport(std::shared_ptr<Mesh> mesh, const GroupOptions& options)
    : rank_(options.rank),
      size_(options.size),
      names_(options),
      checks_data_(options.checks_data != 0),
      mesh_(std::move(mesh)) {
  peers_.resize(static_cast<size_t>(size_));
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) peers_[static_cast<size_t>(peer)] = std::make_unique<Peer>(*mesh_);
  }
}

// The connections end before the buffers, which Gloo must not find missing.
GlooTransport::~GlooTransport() {
  const SigpipeGuard no_sigpipe;
  if (watch_ != nullptr) watch_->stop();
  close_all(reason_to_leave());
}

// The hello comes last: a rank that has it knows that the peer waits for all kinds of messages, so a goodbye that it
// sends from now on arrives.
Status GlooTransport::start(const GroupOptions& options, Deadline deadline) {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    Peer& other = peer_at(peer);
    Status status = call_gloo(peer, [&] {
      for (size_t i = 0; i < kCapacity; ++i) {
        other.heads_received->recv(peer, kHeadSlot, i * sizeof(Head), sizeof(Head));
        other.confirmations->recv(peer, kConfirmationSlot, 0, 0);
      }
      other.goodbye_received->recv(peer, kGoodbyeSlot, 0, sizeof(Goodbye));
      other.silence->recv(peer, kSilentSlot, 0, 0);
      other.hello->recv(peer, kHelloSlot, 0, 0);
      other.hello->send(peer, kHelloSlot, 0, 0);
    });
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

void GlooTransport::begin(uint64_t operation) noexcept {
  const std::lock_guard lock(mutex_);
  operation_ = operation;
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
    if (was_gone) {
      const std::lock_guard lock(mutex_);
      if (!failure_.ok()) return failure_;  // it left because of a later operation's
      return Status::failure(Code::kPeerLost, "rank %d left the group", names_[peer]);
    }
    was_gone = peer_at(peer).is_gone;
    if (was_gone) continue;
    if (is_late) {
      return Status::failure(Code::kTimeout, "rank %d waited for rank %d until the deadline", names_[rank_],
                             names_[peer]);
    }
    if (is_broken) std::this_thread::sleep_for(kRetryInterval);  // Gloo is just about to tell the other buffers
  }
}

// Looks for connections that have ended. A reason that a rank gave goes before a connection that just ended.
void GlooTransport::examine() noexcept {
  std::vector<int>::size_type unexplained = 0;
  int lost = -1;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || peer_at(peer).is_gone || !Alarm::has_ended(*peer_at(peer).silence)) continue;
    Peer& other = peer_at(peer);
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
  if (has_failed() || notice.operation >= failed_operation_) return;
  failure_ = notice.reason();
  failed_operation_ = notice.operation;
}

Status GlooTransport::send(int peer, const Message& message) noexcept {
  const std::lock_guard use(use_);
  if (Status status = failure(); !status.ok()) return status;
  Peer& other = peer_at(peer);
  const size_t index = other.sent % kCapacity;
  Head& head = other.heads_out[index];
  head.header = message.header;
  head.bytes = message.bytes;
  head.checksum = checks_data_ ? checksum_of(message.data, message.bytes) : 0;
  const bool is_inline = message.bytes <= kInlineBytes;
  if (is_inline && message.bytes > 0) std::memcpy(head.data, message.data, static_cast<size_t>(message.bytes));
  const size_t head_bytes = static_cast<size_t>(kHeadBytes + (is_inline ? message.bytes : 0));
  ++other.sent;
  return call_gloo(peer, [&] {
    other.heads_sent->send(peer, kHeadSlot, index * sizeof(Head), head_bytes);
    if (is_inline) return;
    const size_t bytes = static_cast<size_t>(message.bytes);
    other.data_out[index] = mesh_->createUnboundBuffer(const_cast<void*>(message.data), bytes);
    other.data_out[index]->send(peer, kDataSlot, 0, bytes);
  });
}

void GlooTransport::expect(int peer, void* place, int64_t bytes) noexcept {
  Peer& other = peer_at(peer);
  other.place = place;
  other.expected = bytes;
}

Status GlooTransport::receive(int peer, Deadline deadline, Message* out) noexcept {
  const std::lock_guard use(use_);
  Peer& other = peer_at(peer);
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
  Peer& other = peer_at(peer);
  Status status = await(peer, *other.heads_received, deadline);
  return status.ok() ? start_data(peer) : status;
}

// Data of another size than expected stays where it is: the comparison of the calls finds the difference.
Status GlooTransport::start_data(int peer) noexcept {
  Peer& other = peer_at(peer);
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
  Peer& other = peer_at(peer);
  return other.data_in != nullptr ? await(peer, *other.data_in, deadline) : Status{};
}

void GlooTransport::release(int peer) noexcept {
  const std::lock_guard use(use_);
  Peer& other = peer_at(peer);
  other.data_in.reset();
  other.place = nullptr;
  other.expected = -1;
  if (is_closed_) return;
  const size_t index = other.taken++ % kCapacity;
  // A failure shows in the next call.
  call_gloo(peer, [&] { other.heads_received->recv(peer, kHeadSlot, index * sizeof(Head), sizeof(Head)); });
}

Status GlooTransport::drain(Deadline deadline) noexcept {
  const std::lock_guard use(use_);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    if (Status status = drain(peer, deadline); !status.ok()) return status;
  }
  return {};
}

Status GlooTransport::drain(int peer, Deadline deadline) noexcept {
  Peer& other = peer_at(peer);
  while (other.confirmed < other.sent) {
    Status status = await(peer, *other.confirmations, deadline);
    if (status.code == Code::kPeerLost && other.is_gone && failure().ok()) break;  // it left after this operation
    if (!status.ok()) return status;
    ++other.confirmed;
    status = call_gloo(peer, [&] { other.confirmations->recv(peer, kConfirmationSlot, 0, 0); });
    if (!status.ok()) return status;
  }
  for (auto& data : other.data_out) data.reset();
  return {};
}

void GlooTransport::withdraw() noexcept {
  const std::lock_guard use(use_);
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    peer->data_in.reset();
    for (auto& data : peer->data_out) data.reset();
  }
}

Status GlooTransport::abort(const Status& reason) noexcept {
  const CancellationGuard no_cancellation;
  const SigpipeGuard no_sigpipe;
  Notice notice;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = reason;
    failed_operation_ = std::min(failed_operation_, operation_);
    notice = Notice(failed_operation_, rank_, failure_);
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

// A failure in a later operation than the others run is why this rank leaves.
Notice GlooTransport::reason_to_leave() noexcept {
  const std::lock_guard lock(mutex_);
  const Status left = Status::failure(Code::kPeerLost, "rank %d left the group", names_[rank_]);
  return {operation_, rank_, failure_.ok() ? left : failure_};
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
    Peer& other = peer_at(peer);
    other.goodbye_out = {.mark = kGoodbyeMark, .notice = notice};
    try {
      other.goodbye_sent->send(peer, kGoodbyeSlot, 0, sizeof(Goodbye));
    } catch (const std::exception&) {
    }
  }
}

}  // namespace halftone
