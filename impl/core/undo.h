// What a call takes back where it fails. A call that runs out of memory has changed nothing, although a forward pass
// draws random streams and moves running statistics on its way: whoever changes such a thing says how it is taken back.
// Calls of one thread nest where the host calls back, and what an inner one has done is the outer one's to take
// back. Used by one thread.
#pragma once

#include <memory>
#include <utility>

namespace halftone {

class Undo {
 public:
  Undo() noexcept : outer_(current_) { current_ = this; }
  // Takes back, the last change first, unless keep() was called.
  ~Undo();
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  // The call has succeeded.
  void keep() noexcept { is_kept_ = true; }

  // Has `take_back` called where this thread's call fails; it must not throw. Outside of calls nothing is taken back.
  // Throws OUT_OF_MEMORY, which is a failure as well: then it was called.
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
