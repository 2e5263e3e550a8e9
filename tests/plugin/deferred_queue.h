// The order of work on the deferred device (deferred_plugin.cpp). Each stream has a queue of work that runs only when
// the program waits for it, so that code which forgets a wait or an event reads values that are not there yet. All
// members are called under Machine::mutex, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/device.h"

namespace halftone::deferred {

// Runs on the CPU's stream.
using Work = std::function<Status(Stream& cpu)>;

class Queue;

// The device that would run this many pieces later is lost instead: it runs nothing more, and every wait for it fails.
// Below 0: none is.
inline std::atomic<int64_t> pieces_until_loss{-1};

// The part that all streams of a device share.
struct Machine {
  explicit Machine(Stream& stream) : cpu(stream) {}

  // Runs everything, the queue that was created last first.
  void run_all();
  Status take_fault();
  // Called before each piece. Returns true if the device is lost.
  bool may_lose();

  std::recursive_mutex mutex;
  Stream& cpu;
  Status fault;  // the device's error word
  bool is_lost = false;
  std::vector<Queue*> queues;
};

class Queue {
 public:
  explicit Queue(Machine& machine) : machine_(machine) { machine.queues.push_back(this); }
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Work that begins while the error word holds a fault is skipped: it may read an index that is out of range.
  void add(Work work);
  // Work that is added later runs after the first `position` pieces of the other queue.
  void add_wait(std::shared_ptr<Queue> other, int64_t position);
  // Work that needs something from outside of the machine: it is tried again until it returns true, and work that is
  // added later runs after that.
  void add_attempt(std::function<bool()> attempt);

  // The number of pieces that were added so far.
  int64_t length() const { return finished_ + static_cast<int64_t>(pieces_.size()) + (is_running_ ? 1 : 0); }
  bool is_past(int64_t position) const { return finished_ >= position; }
  // Returns true if a piece has finished.
  bool run_one();
  // May end earlier, at an attempt that has to be tried again.
  void run_until(int64_t position);

 private:
  Machine& machine_;
  std::deque<std::function<bool()>> pieces_;  // return true when they have finished
  int64_t finished_ = 0;
  bool is_running_ = false;
};

}  // namespace halftone::deferred
