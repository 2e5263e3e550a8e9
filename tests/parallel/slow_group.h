// A group over a slow link, for tests of what happens while ranks communicate.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "comm/group/process_group.h"
#include "comm/ranks.h"

namespace halftone::parallel {

// Averages, gathers and scatters take as long as the bytes that a ring sends for them need at a rate. They run one
// after another on a thread of its own, through another group, which does everything else at once.
class SlowGroup final : public ProcessGroup {
 public:
  SlowGroup(ProcessGroup& group, double bytes_per_second) : group_(group), rate_(bytes_per_second) {}
  ~SlowGroup() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }

  // When operations began and ended, as numbers of a count that the test shares, and where their results are.
  struct Span {
    int64_t begin, end;
    const void* out;
  };
  std::vector<Span> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  int64_t now() { return clock_.fetch_add(1); }
  double slept() const { return slept_; }

  // No further operation begins before let_go(), unless the test forgets it for 10 seconds.
  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    changed_.notify_one();
  }

  void destroy() noexcept override {}
  const char* kind() const noexcept override { return group_.kind(); }
  int32_t rank() const noexcept override { return group_.rank(); }
  int32_t size() const noexcept override { return group_.size(); }
  Status start(const CallOptions& options, const Request& request, Work** out_work) noexcept override {
    const double bytes = bytes_of_ring(request);
    if (bytes < 0) return group_.start(options, request, out_work);
    return delay(bytes, request.out.data, out_work,
                 [=, this](Work** work) { return group_.start(options, request, work); });
  }
  void abort(const char* reason) noexcept override { group_.abort(reason); }
  void fail(const Status& reason) noexcept override { group_.fail(reason); }
  GroupCounters counters() const noexcept override { return group_.counters(); }
  Status link_cost(LinkCost* out) const noexcept override { return group_.link_cost(out); }
  size_t describe_operations(char* out, size_t capacity) const noexcept override {
    return group_.describe_operations(out, capacity);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
    Status result;

    void finish() {
      const std::lock_guard lock(mutex);
      is_done = true;
      changed.notify_all();
    }
  };
  class SlowWork final : public Work {
   public:
    explicit SlowWork(std::shared_ptr<State> state) : state_(std::move(state)) {}
    void destroy() noexcept override { delete this; }
    bool is_done() noexcept override {
      const std::lock_guard lock(state_->mutex);
      return state_->is_done;
    }
    bool wait_for(int64_t ns) noexcept override {
      std::unique_lock lock(state_->mutex);
      return state_->changed.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return state_->is_done; });
    }
    Status wait() noexcept override {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock, [&] { return state_->is_done; });
      return state_->result;
    }
    Status wait_on(Stream&) noexcept override { return wait(); }

   private:
    const std::shared_ptr<State> state_;
  };

  // Bytes that a rank sends to each other rank; -1 for operations that are not slow.
  double bytes_of_ring(const Request& request) const {
    const auto bytes = [](const View& view) {
      return static_cast<double>(view.numel()) * static_cast<double>(size_of(view.dtype));
    };
    switch (request.operation) {
      case Operation::kAllReduce:
        return 2 * bytes(request.in) / size();
      case Operation::kAllGather:
        return bytes(request.in);
      case Operation::kReduceScatter:
        return bytes(request.out);
      default:
        return -1;
    }
  }

  // `bytes` go to each other rank.
  Status delay(double bytes, const void* out, Work** out_work, std::function<Status(Work** work)> start) {
    const std::shared_ptr<State> state = std::make_shared<State>();
    const double seconds = bytes * (size() - 1) / rate_;
    const auto asked = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    queue_.push_back([=, this, start = std::move(start)] {
      const int64_t begin = now();
      const std::chrono::duration<double> duration(seconds);
      free_at_ = std::max(free_at_, asked) + std::chrono::duration_cast<std::chrono::nanoseconds>(duration);
      std::this_thread::sleep_until(free_at_);
      slept_ = slept_ + seconds;
      state->result = result_of(start);
      {
        const std::lock_guard inner(mutex_);
        spans_.push_back({begin, now(), out});
      }
      state->finish();
    });
    changed_.notify_one();
    *out_work = new SlowWork(state);
    return {};
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      changed_.wait_for(lock, std::chrono::seconds(10), [&] { return is_closed_ || !is_held_; });
      const std::function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  ProcessGroup& group_;
  const double rate_;
  std::chrono::steady_clock::time_point
      free_at_{};  // of the link: a thread that wakes up late keeps no message waiting
  std::atomic<int64_t> clock_{0};
  std::atomic<double> slept_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  bool is_held_ = false;
  std::deque<std::function<void()>> queue_;
  std::vector<Span> spans_;
  std::thread thread_{[this] { run(); }};
};

}  // namespace halftone::parallel
