// The work of a function on one device, recorded once and run again without the function. The device's work repeats by
// itself; state in host memory does not. So the parts of the library whose state a step changes register a
// ReplayedState while the function runs, and each replay calls it. Numbers that the CPU computes for each step, such as
// the factor of a caller's schedule, and the generator's position are words in device memory, which a replay brings up
// to date with one transfer. Used by one thread at a time.
#pragma once

#include <functional>
#include <vector>

#include "core/thread.h"
#include "runtime/context.h"
#include "runtime/recorded_keys.h"

namespace halftone {

class ReplayedState : public RefCounted {
 public:
  // The function has ended; its work has not run yet.
  virtual void end_recording() {}
  // Throws STATE if a replay would not do what the function would do now. Changes nothing.
  virtual void check() const {}
  // Before each run, the first included. May queue work, wait, and set numbers.
  virtual void prepare() {}
  // After a replay's work is queued: leaves the state as the function does.
  virtual void replayed() noexcept {}
  // Likewise, after replayed() of all others.
  virtual void settle() noexcept {}
  // The recorded work will never run.
  virtual void abandon() noexcept {}
};

class RecordedStep final : public RefCounted {
 public:
  // Calls `function`, whose work on the device is recorded, and then runs it for the first time. Throws what the
  // function throws, STATE for calls that cannot be recorded, OUT_OF_MEMORY; then nothing of the work has run.
  // REQUIRES: the device can record.
  RecordedStep(ContextDevice& device, const std::function<void()>& function);
  ~RecordedStep() override;

  // Queues the work again. Throws STATE while a recording of this thread is under way, and where a state refuses.
  void replay();

  // The recording of this thread; null if there is none.
  static RecordedStep* current() noexcept { return thread().recorded_step; }
  ContextDevice& device() const noexcept { return device_; }
  // True if the memory was allocated by this recording: it is this step's own.
  bool owns(const Allocation& allocation) const noexcept;

  // The state that was registered for an object; null if there is none.
  ReplayedState* state_of(const void* object) const noexcept;
  void add_state(const void* object, Ref<ReplayedState> state) { states_.push_back({object, std::move(state)}); }
  // For callers that cannot throw: a state could not be registered, so the recording fails with OUT_OF_MEMORY.
  void lose_state() noexcept { lost_state_ = true; }

  // A number that changes from replay to replay: its index, and its place in device memory. Throws UNSUPPORTED if there
  // are too many.
  int add_number();
  const double* number_on_device(int index) const noexcept;
  void set_number(int index, double value) noexcept { words_.numbers[index] = value; }

 private:
  static constexpr int kMostNumbers = 62;
  struct Words {
    ReplayedKey key;
    double numbers[kMostNumbers];
  };
  struct Registered {
    const void* object;
    Ref<ReplayedState> state;
  };

  void record(const std::function<void()>& function);
  void call(const std::function<void()>& function);
  void run();
  void abandon() noexcept;
  void free_work() noexcept;

  ContextDevice& device_;
  Ref<Context> context_;
  Allocation memory_;  // of the words
  Words words_ = {};
  MemoryPool* pool_ = nullptr;
  RecordedWork* work_ = nullptr;
  std::vector<Registered> states_;
  int numbers_ = 0;
  uint64_t first_sequence_ = 0;  // the generator's position when the recording began
  uint64_t sequences_ = 0;       // that the function took
  bool lost_state_ = false;
};

}  // namespace halftone
