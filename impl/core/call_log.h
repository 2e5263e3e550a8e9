// The actions that one call of the C API leaves for its end. A call that runs out of memory must leave everything as it
// was, but a forward pass takes random sequences before it can fail: code that changes such state registers an action
// that undoes the change if the call fails. A change that nothing in the call depends on, such as that of running
// statistics, need not be undone: it is registered as an action for the call's success. Calls made inside a callback
// nest: an inner call that succeeds hands its actions to the outer call. Used by one thread.
#pragma once

#include <memory>

#include "core/thread.h"

namespace halftone {

class CallLog {
 public:
  CallLog() noexcept : outer_(thread().call_log) { thread().call_log = this; }
  // Runs the actions for success, in the order of their registration, if succeed() was called. Else it runs those for
  // failure, the last one first.
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // Makes calls of this thread outermost ones until the end of a block: a function that they are made from is complete
  // by parts.
  struct Suspension {
    const ThreadGuard<&Thread::call_log> none{nullptr};
  };

  // Must be called when the call has succeeded.
  void succeed() noexcept { has_succeeded_ = true; }

  // The program has interrupted the call (core/interrupt.h), which fails.
  void mark_ending() noexcept { is_ending_ = true; }
  bool is_ending() const noexcept { return is_ending_; }

  // Registers `action`, which must not throw, to run if this thread's current call fails. Outside of a call it is
  // dropped. If there is no memory to register it, it runs at once, and OUT_OF_MEMORY is thrown.
  template <class Action>
  static void on_failure(const Action& action) {
    CallLog* const log = thread().call_log;
    if (log == nullptr) return;
    try {
      log->for_failure_.push_front(std::make_unique<StepOf<Action>>(action));
    } catch (...) {
      action();
      throw;
    }
  }

  // Registers `action`, which must not throw, to run when this thread's outermost call has succeeded; it is dropped if
  // one of the calls around it fails. Outside of a call it runs at once. Throws OUT_OF_MEMORY, and then it never runs.
  template <class Action>
  static void on_success(const Action& action) {
    CallLog* const log = thread().call_log;
    if (log == nullptr) return action();
    log->for_success_.push_back(std::make_unique<StepOf<Action>>(action));
  }

 private:
  struct Step {
    virtual ~Step() = default;
    virtual void run() noexcept = 0;
    std::unique_ptr<Step> next;
  };
  template <class Action>
  struct StepOf final : Step {
    explicit StepOf(const Action& wanted) : action(wanted) {}
    void run() noexcept override { action(); }
    Action action;
  };

  // Takes one step off at a time: destroying the whole list at once would recurse once per step.
  class Steps {
   public:
    ~Steps() {
      while (pop() != nullptr) continue;
    }
    void push_front(std::unique_ptr<Step> step) noexcept;
    void push_back(std::unique_ptr<Step> step) noexcept;
    // Moves all steps of `other` to the front or the back.
    void splice_front(Steps& other) noexcept;
    void splice_back(Steps& other) noexcept;
    void run() noexcept;

   private:
    std::unique_ptr<Step> pop() noexcept;

    std::unique_ptr<Step> first_;
    Step* last_ = nullptr;  // REQUIRES: first_, if it is read
  };

  CallLog* const outer_;
  Steps for_failure_;
  Steps for_success_;
  bool has_succeeded_ = false;
  bool is_ending_ = false;
};

}  // namespace halftone
