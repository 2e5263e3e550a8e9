// Scopes that belong to no thread. A thread that has entered the stack begins and ends scopes there; another thread may
// go on with them later.
#pragma once

#include <atomic>

#include "scope/scope.h"

struct htone_scope_stack;

namespace halftone::capi {

class ScopeStack final : public RefCounted {
 public:
  ScopeStack() : owner_(make_ref<ScopeOwner>(ScopeOwner::Kind::kStack)) {}
  ~ScopeStack() override { owner_->end(open_); }

  // Puts the scopes and modes of the stack in the place of the calling thread's, which wait until leave(). Throws
  // STATE where a thread has entered the stack, and inside a call that sets the modes back at its end.
  void enter();
  // REQUIRES: the calling thread has entered the stack, and no other one since.
  void leave() noexcept;

  ScopeOwner* owner() const noexcept { return owner_.get(); }

 private:
  // With the calling thread, which is the only one that does so: is_entered_ passes the stack on.
  void exchange() noexcept;

  const Ref<ScopeOwner> owner_;
  std::atomic<bool> is_entered_{false};
  // Of the stack while it is not entered, of the thread around it while it is.
  ScopeModes modes_;
  int64_t depth_ = 0;
  int64_t base_ = 0;
  OpenScope* open_ = nullptr;
  GivenHandles* given_ = nullptr;
  ScopeStack* entered_ = nullptr;  // by the thread before this one
  Ref<ScopeStack> itself_;         // while it is entered
};

template <>
struct HandleTraits<htone_scope_stack> : HandleTo<Ref<ScopeStack>, HandleType::kScopeStack> {};

}  // namespace halftone::capi
