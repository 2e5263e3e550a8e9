// The rollback log of one call of the C API. A call that runs out of memory must leave everything as it was, but a
// forward pass takes random sequences and updates running statistics before it can fail. Code that changes such state
// registers an undo action. Calls made inside a callback nest: an inner call that succeeds hands its actions to the
// outer call. Used by one thread.
#pragma once

#include <memory>
#include <utility>

namespace halftone {

class Undo {
 public:
  Undo() noexcept : outer_(current_) { current_ = this; }
  // Runs the actions, the last one first, unless keep() was called.
  ~Undo();
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  // Must be called when the call has succeeded.
  void keep() noexcept { is_kept_ = true; }

  // Registers `take_back`, which runs if this thread's current call fails; it must not throw. Outside of a call it is
  // dropped. If there is no memory to register it, it runs at once, and OUT_OF_MEMORY is thrown.
  template <class TakeBack>
  static void on_failure(const TakeBack& take_back) {
    if (current_ == nullptr) return;
    try {
      current_->push(std::make_unique<StepOf<TakeBack>>(take_back));
    } catch (...) {
      take_back();
      throw;
    }
  }

 private:
  struct Step {
    virtual ~Step() = default;
    virtual void take_back() noexcept = 0;
    std::unique_ptr<Step> before;
  };
  template <class TakeBack>
  struct StepOf final : Step {
    explicit StepOf(const TakeBack& wanted) : function(wanted) {}
    void take_back() noexcept override { function(); }
    TakeBack function;
  };

  void push(std::unique_ptr<Step> step) noexcept;
  std::unique_ptr<Step> pop() noexcept;

  static thread_local constinit Undo* current_;

  Undo* outer_;
  std::unique_ptr<Step> last_;
  bool is_kept_ = false;
};

}  // namespace halftone
