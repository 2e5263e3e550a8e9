#include "comm/nccl/nccl_thread.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "comm/guarded.h"
#include "core/foreign_function.h"

namespace halftone::nccl {
namespace {

// The ranks compare their first calls: programs that disagree mostly do so from the beginning. Every comparison is a
// message to the store, so the others are compared only when they time out.
constexpr uint64_t kComparedCalls = 256;
// The thread looks at operations under way this often: at once after some progress, and then less and less.
constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{1000};
constexpr std::chrono::milliseconds kFirstLook{5};
constexpr std::chrono::milliseconds kLongestLook{250};

// In Notice::reserved: the rank has left in good order, so that NCCL works.
constexpr int32_t kLeft = 1;

bool has_messages(const NcclWork& work) { return work.request().operation == Operation::kMessages; }

int64_t received_bytes(const Request& request, int32_t rank, int32_t size) {
  if (request.operation == Operation::kMessages) return bytes_of_transfers(request, Operation::kReceive);
  if (request.operation == Operation::kBroadcast) return rank == request.peer ? 0 : bytes_of(request.out);
  return bytes_sent_by_rings(request, rank, size);
}

}  // namespace

NcclThread::NcclThread(const NcclFunctions& nccl, const GroupOptions& options)
    : OperationThread(options),
      seat_{.device = options.device->index(), .rank = options.rank, .size = options.size},
      checks_all_calls_(options.checks_data != 0),
      board_(options),
      communicator_(nccl, seat_),
      sent_(static_cast<size_t>(options.size)),
      received_(static_cast<size_t>(options.size)) {
  if (options.size > 1 && options.heartbeat_ns > 0) watch_.emplace(options, static_cast<Watch::Listener&>(*this));
}

NcclThread::~NcclThread() {
  if (watch_) watch_->stop();
  communicator_.abort();
}

Status NcclThread::start(const GroupOptions& options, const ncclUniqueId& id, Clock::time_point deadline) {
  if (watch_) watch_->start();
  const Patience patience = [&] {
    look_for_notice(Clock::now());
    Status status = failure_for(0);
    if (!status.ok() || Clock::now() < deadline) return status;
    return Status::failure(Code::kTimeout,
                           "rank %d waited for NCCL to connect the %d ranks of the group \"%.64s\" until the deadline",
                           names_[seat_.rank], seat_.size, options.name);
  };
  if (Status status = communicator_.join(id, patience); !status.ok()) return status;
  return start_thread(0);
}

Status NcclThread::submit(const Ref<NcclWork>& work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(work);
  const Request& request = work->request();
  if (has_messages(*work)) {
    for (size_t i = 0; i < work->messages.size(); ++i) {
      const Transfer& transfer = request.transfers[i];
      auto& numbers = transfer.direction == Operation::kSend ? sent_ : received_;
      work->messages[i] = ++numbers[static_cast<size_t>(transfer.peer)];
    }
    work->position = operations_ + 1;
  } else {
    work->position = ++operations_;
  }
  work->number = recorder_.record_call(request);
  changed_.notify_one();
  return {};
}

void NcclThread::abort(const Status& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (abort_) return;
  abort_ = reason;
  changed_.notify_one();
}

void NcclThread::close() noexcept {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_one();
}

void NcclThread::stop() noexcept {
  join();
  const CancellationGuard no_cancellation;
  if (watch_) watch_->stop();
}

void NcclThread::run() noexcept {
  cudaSetDevice(seat_.device);
  while (await_work()) {
    const Status status = guarded([&] {
      queue_next();
      watch();
    });
    if (!status.ok()) fail(status, 0);
  }
  leave();
}

// Returns false when the group is closed. With operations under way it waits for a moment alone.
bool NcclThread::await_work() {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] { return is_closed_ || !queue_.empty() || abort_.has_value(); };
  if (running_.empty()) {
    changed_.wait(lock, has_work);
  } else {
    pause_ = std::exchange(made_progress_, false) ? kFirstPause : std::min<Clock::duration>(2 * pause_, kLongestPause);
    changed_.wait_for(lock, pause_, has_work);
  }
  if (abort_ && failed_position_ == UINT64_MAX) {
    const uint64_t position = !running_.empty() ? running_.front()->position
                              : !queue_.empty() ? queue_.front()->position
                                                : operations_ + 1;
    const Status reason = *abort_;
    lock.unlock();
    fail(reason, position);
    lock.lock();
  }
  abort_.reset();
  return !is_closed_;
}

Ref<NcclWork> NcclThread::take_next() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return nullptr;
  Ref<NcclWork> work = std::move(queue_.front());
  queue_.pop_front();
  return work;
}

void NcclThread::queue_next() {
  const Ref<NcclWork> work = take_next();
  if (!work) return;
  running_.push_back(work);
  Status status = failure_for(*work);
  if (status.ok()) status = queue(*work);
  if (status.ok()) {
    made_progress_ = true;
  } else {
    fail(status, work->position);
  }
}

Status NcclThread::queue(NcclWork& work) {
  if (Status status = compare_calls(work, checks_all_calls_); !status.ok()) return status;
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout_ns_);
  const Patience patience = [&] {
    look_for_notice(Clock::now());
    Status status = failure_for(work);
    const std::lock_guard lock(mutex_);
    if (status.ok() && (is_closed_ || abort_)) status = Status::failure(Code::kCancelled, "the group ends");
    if (status.ok() && Clock::now() >= deadline) status = Status::failure(Code::kTimeout, "the ranks do not connect");
    return status;
  };
  if (Status status = work.ready().wait_on(communicator_.stream()); !status.ok()) return status;
  Status status = communicator_.queue(work.request(), work.is_deterministic(), patience);
  if (status.code == Code::kTimeout) return timeout_of(work);
  return status.ok() ? work.mark_queued(communicator_.stream()) : status;
}

// Later calls are compared with `compares_all` alone.
Status NcclThread::compare_calls(const NcclWork& work, bool compares_all) {
  const auto compare = [&](const Header& header, int32_t peer) {
    return header.sequence <= kComparedCalls || compares_all ? board_.compare_call(header, peer) : Status{};
  };
  if (!has_messages(work)) return compare(header_of(work.request(), work.hash(), work.position), -1);
  for (size_t i = 0; i < work.messages.size(); ++i) {
    const Transfer& transfer = work.request().transfers[i];
    const Header header = header_of(transfer, work.hash(), seat_.rank, work.messages[i]);
    const Status status = compare(header, transfer.peer);
    if (status.ok()) continue;
    if (work.messages.size() == 1) return status;
    return Status::failure(status.code, "batch of %zu messages: %.210s", work.messages.size(), status.message);
  }
  return {};
}

void NcclThread::watch() {
  while (finish_first()) made_progress_ = true;
  if (running_.empty()) return;
  NcclWork& first = *running_.front();
  look_for_notice(Clock::now());
  if (Status status = trouble_of(first); !status.ok()) fail(status, first.position);
}

// Returns true if the first operation under way has ended.
bool NcclThread::finish_first() {
  if (running_.empty()) return false;
  const Ref<NcclWork> first = running_.front();
  bool has_run = false;
  if (Status status = first->has_run(&has_run); !status.ok()) {
    fail(status, first->position);
    return false;
  }
  if (!has_run) return false;
  running_.pop_front();
  look_pause_ = {};
  finish(*first, {});
  return true;
}

// The deadline counts from when the caller's stream has come to the operation.
Status NcclThread::trouble_of(NcclWork& work) {
  if (Status status = failure_for(work); !status.ok()) return status;
  if (Status status = communicator_.async_error(); !status.ok()) return status;
  if (work.started == Clock::time_point{}) {
    bool is_ready = false;
    if (Status status = work.ready().is_reached(&is_ready); !status.ok() || !is_ready) return status;
    work.started = Clock::now();
    recorder_.record_start(work.number);
  }
  const bool is_late = Clock::now() - work.started >= std::chrono::nanoseconds(timeout_ns_);
  return is_late ? timeout_of(work) : Status{};
}

Status NcclThread::timeout_of(const NcclWork& work) {
  if (Status status = compare_calls(work, true); !status.ok()) return status;
  const std::string call = has_messages(work)
                               ? RecordText(CallRecord(work.request()), names_).text
                               : HeaderText(header_of(work.request(), work.hash(), work.position), names_).text;
  const std::vector<int32_t> missing = find_missing(work);
  if (missing.empty()) {
    return Status::failure(Code::kTimeout,
                           "rank %d waited for NCCL in %s until the deadline, and the other ranks did so as well",
                           names_[seat_.rank], call.c_str());
  }
  std::string names = missing.size() > 1 ? "ranks" : "rank";
  for (const int32_t rank : missing) names.append(rank == missing[0] ? " " : ", ").append(std::to_string(names_[rank]));
  return Status::failure(Code::kTimeout, "rank %d waited for %s in %s until the deadline", names_[seat_.rank],
                         names.c_str(), call.c_str());
}

// For messages, their other ranks.
std::vector<int32_t> NcclThread::find_missing(const NcclWork& work) {
  if (!has_messages(work)) return board_.find_missing(work.position);
  std::vector<int32_t> missing;
  for (const Transfer& transfer : transfers_of(work.request())) {
    if (std::find(missing.begin(), missing.end(), transfer.peer) == missing.end()) missing.push_back(transfer.peer);
  }
  return missing;
}

// Less and less often while nothing happens, because each look is a message to the store.
void NcclThread::look_for_notice(Clock::time_point now) {
  if (look_pause_ == Clock::duration{}) {
    look_pause_ = kFirstLook;
    next_look_ = now + look_pause_;
  }
  if (now < next_look_) return;
  look_pause_ = std::min<Clock::duration>(2 * look_pause_, kLongestLook);
  next_look_ = now + look_pause_;
  Notice notice;
  if (board_.read_notice(&notice)) on_notice(notice);
}

void NcclThread::on_notice(const Notice& notice) noexcept {
  const std::lock_guard lock(mutex_);
  is_broken_ = is_broken_ || notice.reserved != kLeft;
  if (notice.operation >= failed_position_) return;
  left_rank_ = notice.rank;
  failure_ = notice.reason();
  failed_position_ = notice.operation;
  changed_.notify_one();
}

// Messages between other ranks do not need one that has left in good order.
Status NcclThread::failure_for(const NcclWork& work) {
  Status status = failure_for(work.position);
  if (status.ok() || !has_messages(work)) return status;
  const std::lock_guard lock(mutex_);
  const std::span<const Transfer> transfers = transfers_of(work.request());
  const auto needs_it = [this](const Transfer& transfer) { return transfer.peer == left_rank_; };
  const bool needs_none = !is_broken_ && std::none_of(transfers.begin(), transfers.end(), needs_it);
  return needs_none ? Status{} : status;
}

Status NcclThread::failure_for(uint64_t position) {
  const std::lock_guard lock(mutex_);
  return position >= failed_position_ ? failure_ : Status{};
}

// All ranks tell the reason that came to the store first, unless this rank has failed in an earlier operation.
void NcclThread::fail(const Status& reason, uint64_t position) {
  bool is_closed = false;
  {
    const std::lock_guard lock(mutex_);
    is_closed = is_closed_;
  }
  if (is_closed) return;  // leave() ends all
  Status own = reason;
  if (reason.code == Code::kCancelled) {  // by abort(), before the operation reached the device
    const std::lock_guard lock(mutex_);
    if (abort_) own = *abort_;
  }
  const Notice notice(position, seat_.rank, own);
  on_notice(notice);
  const Notice first = board_.settle(notice);
  if (first.operation <= position) {
    const std::lock_guard lock(mutex_);
    failure_ = first.reason();
    failed_position_ = std::min(failed_position_, first.operation);
  }
  communicator_.abort();
  end_all(failure_for(position));
}

// REQUIRES: the communicator has ended, so that nothing uses the operands any more
void NcclThread::end_all(const Status& result) {
  for (;;) {
    while (!running_.empty()) {
      const Ref<NcclWork> work = std::move(running_.front());
      running_.pop_front();
      finish(*work, result);
    }
    const std::lock_guard lock(mutex_);
    running_.swap(queue_);
    if (running_.empty()) return;
  }
}

void NcclThread::finish(NcclWork& work, const Status& result) {
  if (result.ok()) {
    traffic_.count_operation();
    if (const int64_t bytes = bytes_sent_by_rings(work.request(), seat_.rank, seat_.size); bytes > 0) {
      traffic_.count_sent(bytes, messages_sent_by(work.request()));
    }
    traffic_.count_received(received_bytes(work.request(), seat_.rank, seat_.size));
  }
  recorder_.record_end(work.number, result);
  if (!result.ok() && result.code != Code::kCancelled) report(result);
  work.finish(result);
}

// The others can finish the operations that this rank has finished.
void NcclThread::leave() {
  while (finish_first()) continue;
  uint64_t position = 0;
  bool is_done = false;
  {
    const std::lock_guard lock(mutex_);
    is_done = running_.empty() && queue_.empty();
    position = !running_.empty() ? running_.front()->position : is_done ? operations_ + 1 : queue_.front()->position;
  }
  const char* const when = is_done ? "" : " before its operations were done";
  Notice notice(position, seat_.rank,
                Status::failure(Code::kPeerLost, "rank %d left the group%s", names_[seat_.rank], when));
  notice.reserved = is_done ? kLeft : 0;
  board_.settle(notice);
  if (is_done && !is_broken_) return communicator_.finish();
  communicator_.abort();
  end_all(Status::failure(Code::kCancelled, "the group was destroyed before the operation was done"));
}

}  // namespace halftone::nccl
