// Shows a thread's results to an observer from one call of the C API until another one, where no guard on the stack can
// do it. Hooks of a thread nest, and each passes results on to the one below it. Installed and used by one thread;
// remove() is safe from any.
#pragma once

#include <atomic>
#include <thread>

#include "autograd/observer.h"

namespace halftone::analysis {

class ObserverHook final : public Observer {
 public:
  // On this thread, until remove(). Throws OUT_OF_MEMORY.
  static ObserverHook* install(Observer& target);
  // The target is called no more, and may go. On another thread than the hook's the hook itself stays, without effect,
  // until the hook's thread installs or removes one: no other thread can change the thread's state.
  void remove() noexcept;
  bool is_of_this_thread() const noexcept { return thread_ == std::this_thread::get_id(); }

  void saw(const Recorded& recorded) override;

 private:
  explicit ObserverHook(Observer& target) noexcept : target_(&target), outer_(thread().observer) {}
  ~ObserverHook() = default;
  // Removes the innermost hooks of this thread that have no target.
  static void drop_removed() noexcept;

  std::atomic<Observer*> target_;
  Observer* const outer_;
  const std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace halftone::analysis
