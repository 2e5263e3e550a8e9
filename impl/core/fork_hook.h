// Calls functions around every fork of the process for as long as the hook lives: of the process's threads the child
// has only the one that forked, so what the others were about must be put right there. Safe from any thread.
#pragma once

#include <mutex>

namespace halftone {

class ForkHook {
 public:
  // Each may be null. `before` runs in the forking thread, the others before fork returns.
  struct Calls {
    void (*before)(void* owner) noexcept;
    void (*in_parent)(void* owner) noexcept;
    void (*in_child)(void* owner) noexcept;
  };

  // Make the hook the owner's last member, so that it never sees the owner half built. Throws OUT_OF_MEMORY.
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

// A mutex that no fork finds locked: the child sees what it guards whole, and can lock it. Two of them must not be held
// by one thread at a time, and no fork may happen under one.
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
