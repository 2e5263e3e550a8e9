// A scope that a caller opened: the modes of the thread before it, and its owner.
#pragma once

#include <sys/types.h>

#include <atomic>

#include "autograd/scope.h"
#include "core/error.h"
#include "core/ref.h"
#include "ops/dispatch/autocast.h"

namespace halftone::capi {

// A thread with open scopes. It exists while the thread has one, and as long as handles of its scopes do.
class ScopeOwner final : public RefCounted {
 public:
  // The calling thread's; null where it has no open scope.
  static ScopeOwner* current() noexcept;
  // Makes the calling thread's where there is none. Throws OUT_OF_MEMORY.
  static Ref<ScopeOwner> current_or_new();
  // The calling thread has no open scope any more.
  static void forget_current() noexcept;

  ScopeOwner();
  // Returns true after the thread has ended. In a forked child only the thread that forked has not.
  bool has_ended() const noexcept;
  // Called when the thread ends.
  void mark_ended() noexcept { has_ended_.store(true, std::memory_order_release); }

 private:
  std::atomic<bool> has_ended_{false};
  const pid_t process_;
};

struct OpenScope final : RefCounted {
  ~OpenScope() override {
    if (scope().depth == 0) ScopeOwner::forget_current();
  }

  Scope before;
  Ref<ScopeOwner> owner;
  int64_t depth = 0;           // how many scopes were open with this one
  Ref<AutocastPolicy> policy;  // kept for as long as the thread points to it
};

// Throws STATE in a callback during a call: the end of the call would undo the change.
inline void require_no_call_under_way() {
  if (scope().guards > 0) fail(Code::kState, "", "scopes cannot be begun or ended inside another call of this thread");
}

// Saves the thread's modes before a change.
inline Ref<OpenScope> open_scope() {
  require_no_call_under_way();
  Ref<OpenScope> open = make_ref<OpenScope>();
  open->before = scope();
  open->depth = scope().depth + 1;
  open->owner = ScopeOwner::current_or_new();
  return open;
}

}  // namespace halftone::capi
