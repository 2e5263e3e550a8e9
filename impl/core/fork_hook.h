// Calls functions around every fork() of the process while the hook lives. After fork() only the forking thread exists
// in the child; state owned by other threads must be reset there. Safe from any thread.
#pragma once

#include <mutex>

namespace halftone {

class ForkHook {
 public:
  // Each may be null. All run in the forking thread: `before` before the fork, the others before fork() returns.
  struct Calls {
    void (*before)(void* owner) noexcept;
    void (*in_parent)(void* owner) noexcept;
    void (*in_child)(void* owner) noexcept;
  };

  // REQUIRES: the hook is the owner's last member, so that no call sees a half-built owner. Throws OUT_OF_MEMORY.
  ForkHook(const Calls& calls, void* owner);
  ~ForkHook();
  ForkHook(const ForkHook&) = delete;
  ForkHook& operator=(const ForkHook&) = delete;

 private:
  static void call_all(void (*Calls::*which)(void* owner) noexcept) noexcept;
  static bool install();

  Calls calls_;
  void* owner_;
  ForkHook* next_ = nullptr;
  ForkHook* previous_ = nullptr;
};

// A mutex that is never locked by another thread when fork() copies the process: the child finds the data under it
// consistent and can lock it. REQUIRES: a thread holds at most one ForkMutex at a time, and does not fork while it
// does.
class ForkMutex {
 public:
  ForkMutex() : hook_({lock_owner, unlock_owner, unlock_owner}, this) {}
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static void lock_owner(void* owner) noexcept { static_cast<ForkMutex*>(owner)->lock(); }
  static void unlock_owner(void* owner) noexcept { static_cast<ForkMutex*>(owner)->unlock(); }

  std::mutex mutex_;
  ForkHook hook_;
};

}  // namespace halftone
