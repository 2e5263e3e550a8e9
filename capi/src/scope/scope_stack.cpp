#include "scope/scope_stack.h"

#include <utility>

#include "base/call.h"
#include "halftone/scope_stack.h"

namespace halftone::capi {

void ScopeStack::enter() {
  require_no_guards("a stack of scopes cannot be entered");
  // Keeps the thread's own, so that it leaves the stack when it ends.
  const auto owner = ScopeOwner::current_or_new();
  if (is_entered_.exchange(true, std::memory_order_acquire)) {
    ScopeOwner::forget_unused();
    fail(Code::kState, "stack", "stack is in use: this thread or another one has entered it and not left it");
  }
  itself_ = Ref<ScopeStack>::share(this);
  exchange();
  entered_ = std::exchange(thread().scope_stack, this);
}

void ScopeStack::leave() noexcept {
  const Ref<ScopeStack> itself = std::move(itself_);
  exchange();
  thread().scope_stack = entered_;
  is_entered_.store(false, std::memory_order_release);
  ScopeOwner::forget_unused();
}

void ScopeStack::exchange() noexcept {
  Thread& current = thread();
  std::swap(static_cast<ScopeModes&>(current.scope), modes_);
  std::swap(current.scope.depth, depth_);
  std::swap(current.scope.base, base_);
  std::swap(current.open_scope, open_);
  std::swap(current.given_handles, given_);
}

}  // namespace halftone::capi

using namespace halftone;
using namespace halftone::capi;

namespace {

void leave(const ScopeStack& stack) {
  if (thread().scope_stack != &stack) {
    fail(Code::kState, "stack", "stack is not the one that this thread has entered last");
  }
  require_no_guards("a stack of scopes cannot be left");
  if (thread().scope_stack == thread().outer_scope_stack) {
    fail(Code::kState, "stack", "stack was entered before the callback that is under way on this thread");
  }
  thread().scope_stack->leave();
}

}  // namespace

htone_status htone_scope_stack_create(htone_scope_stack** out) { return Call(make<ScopeStack>, out); }

htone_status htone_scope_stack_enter(htone_scope_stack* stack) { return Call(&ScopeStack::enter, stack); }

htone_status htone_scope_stack_leave(htone_scope_stack* stack) { return Call(leave, stack); }
