#include "comm/control/watch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "comm/control/signals_blocked.h"
#include "core/error.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

// How soon a notice in the store is seen.
constexpr int64_t kLongestSleepNs = 250'000'000;
constexpr int kSilentBeats = 3;
// The release of a group may have to wait for so long.
constexpr int64_t kLongestCallNs = 1'000'000'000;
constexpr char kLeft[] = "left";

}  // namespace

Watch::Watch(const GroupOptions& options, Listener& listener)
    : listener_(listener),
      store_(*options.store),
      rank_(options.rank),
      heartbeat_ns_(options.heartbeat_ns),
      call_ns_(std::min(options.heartbeat_ns, kLongestCallNs)),
      names_(options),
      server_key_(std::string(options.name) + "/server"),
      notice_key_(std::string(options.name) + "/abort"),
      pulses_(static_cast<size_t>(options.size)) {
  for (size_t rank = 0; rank < pulses_.size(); ++rank) {
    pulses_[rank].key = std::string(options.name) + "/heartbeat/" + std::to_string(rank);
    pulses_[rank].last.reserve(32);
  }
}

void Watch::start() {
  open_store();
  const SignalsBlocked in_the_thread;
  const int error = pthread_create(&thread_, nullptr, work, this);
  if (error != 0) fail(Code::kOutOfMemory, "", "cannot start the watch of a group: error %d", error);
  is_started_ = true;
}

void Watch::stop() noexcept {
  if (!is_started_) return;
  is_started_ = false;
  const CancellationGuard no_cancellation;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_one();
  }
  pthread_join(thread_, nullptr);
}

void Watch::announce(const Notice& notice) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_announcement_) return;
  announcement_ = notice;
  has_announcement_ = true;
  changed_.notify_one();
}

void* Watch::work(void* self) noexcept {
  static_cast<Watch*>(self)->run();
  return nullptr;
}

void Watch::run() noexcept {
  auto next_beat = std::chrono::steady_clock::now();
  do {
    publish();
    read_notice();
    if (std::chrono::steady_clock::now() < next_beat) continue;
    beat();
    next_beat = std::chrono::steady_clock::now() + std::chrono::nanoseconds(heartbeat_ns_);
  } while (sleep());
  publish();
  if (silent_calls_ > 0) return;
  store().set(pulses_[static_cast<size_t>(rank_)].key.c_str(), {.data = kLeft, .bytes = sizeof kLeft - 1});
}

// All ranks have met, so the one that serves the store has told its number.
void Watch::open_store() noexcept {
  KeyValueStore* opened = nullptr;
  if (!store_.reopen(call_ns_, &opened).ok() || opened == nullptr) return;
  own_store_ = OwnedStore(opened);
  char text[16] = {};
  size_t bytes = 0;
  if (store().get(server_key_.c_str(), 0, text, sizeof text - 1, &bytes).ok()) server_rank_ = std::atoi(text);
}

// A store that fails tells nothing about the ranks: it may have been closed in good order. One that is silent for three
// heartbeats is cut off, and so is the rank that serves it.
bool Watch::is_heard(const Status& status) noexcept {
  const int error = status.ok() ? 0 : status.native_code;
  const bool is_silent =
      (status.code == Code::kTimeout && error == ETIMEDOUT) ||
      (status.code == Code::kIo && (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH));
  silent_calls_ = is_silent ? silent_calls_ + 1 : 0;
  const bool is_lost =
      server_rank_ >= 0 && server_rank_ != rank_ && silent_calls_ * call_ns_ >= heartbeat_ns_ * kSilentBeats;
  if (is_lost && !has_ended_) lose(server_rank_, "the store, which it serves,");
  return status.ok();
}

void Watch::lose(int rank, const char* what) noexcept {
  const Status reason = Status::failure(Code::kPeerLost, "rank %d is lost: %s gave no sign of life for %.1f s",
                                        names_[rank], what, static_cast<double>(heartbeat_ns_) * kSilentBeats * 1e-9);
  listener_.on_notice({0, rank_, reason});
  if (silent_calls_ == 0) publish();
  has_ended_ = true;
}

// Returns false when the watch is over.
bool Watch::sleep() noexcept {
  std::unique_lock lock(mutex_);
  const bool had_announcement = has_announcement_;
  const auto is_awake = [&] { return is_stopped_ || has_announcement_ != had_announcement; };
  changed_.wait_for(lock, std::chrono::nanoseconds(std::min(heartbeat_ns_, kLongestSleepNs)), is_awake);
  return !is_stopped_;
}

// Keeps the first notice, so that all ranks report the same cause.
void Watch::publish() noexcept {
  Notice notice;
  {
    const std::lock_guard lock(mutex_);
    if (!has_announcement_ || has_ended_) return;
    notice = announcement_;
  }
  int32_t swapped = 0;
  has_ended_ = true;
  is_heard(store().compare_set(notice_key_.c_str(), {}, {.data = &notice, .bytes = sizeof notice}, &swapped));
}

void Watch::read_notice() noexcept {
  Notice notice;
  size_t bytes = 0;
  if (has_ended_ || !is_heard(store().get(notice_key_.c_str(), 0, &notice, sizeof notice, &bytes))) return;
  if (bytes != sizeof notice) return;
  has_ended_ = true;
  listener_.on_notice(notice);
}

void Watch::beat() noexcept {
  if (has_ended_) return;
  int64_t sum = 0;
  if (!is_heard(store().add(pulses_[static_cast<size_t>(rank_)].key.c_str(), 1, &sum))) return;
  for (int rank = 0; rank < static_cast<int>(pulses_.size()) && !has_ended_; ++rank) {
    if (rank != rank_) listen(rank);
  }
}

// Beats of this rank are counted, not time: a rank that was stopped itself must not take the others for lost.
void Watch::listen(int rank) noexcept {
  Pulse& pulse = pulses_[static_cast<size_t>(rank)];
  char text[32] = {};
  size_t bytes = 0;
  const Status status = store().get(pulse.key.c_str(), 0, text, sizeof text - 1, &bytes);
  is_heard(status);
  if (has_ended_) return;
  if (!status.ok() && status.code != Code::kTimeout) return;
  if (!status.ok()) bytes = 0;
  text[bytes] = '\0';
  if (pulse.last != text) {
    pulse.last = text;  // has room
    pulse.silent_beats = 0;
  } else if (pulse.last != kLeft && ++pulse.silent_beats > kSilentBeats) {
    lose(rank, "it");
  }
}

}  // namespace halftone
