// Calls a function in every forked child, before fork returns there, for as long as the hook lives. The thread pool
// uses it: of the process's threads the child has only the one that forked. Safe from any thread.
#pragma once

namespace halftone {

class ForkHook {
 public:
  // `reset` must not take a lock that another thread may have held at the time of the fork. Make the hook the owner's
  // last member, so that it never sees the owner half built. Throws OUT_OF_MEMORY.
  ForkHook(void (*reset)(void* owner) noexcept, void* owner);
  ~ForkHook();
  ForkHook(const ForkHook&) = delete;
  ForkHook& operator=(const ForkHook&) = delete;

 private:
  static void before_fork() noexcept;
  static void after_fork_in_parent() noexcept;
  static void after_fork_in_child() noexcept;
  static bool install();

  void (*reset_)(void* owner) noexcept;
  void* owner_;
  ForkHook* next_ = nullptr;
  ForkHook* previous_ = nullptr;
};

}  // namespace halftone
