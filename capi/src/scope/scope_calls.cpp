#include "base/call.h"
#include "halftone/scope.h"
#include "halftone/scope_stack.h"
#include "scope/scope.h"

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

htone_status htone_handles_begin(htone_scope** out) {
  return guard([&] {
    Ref<OpenScope> open = open_scope();
    require_memory(out, "out");
    open->given = std::make_unique<GivenHandles>();
    enter(std::move(open), out);
  });
}

htone_status htone_keep(void* handle) {
  return guard([&] {
    if (handle == nullptr) return;
    if (HandleTable::instance().type_of(handle) == HandleType::kNone) {
      fail(Code::kInvalidHandle, "handle", "handle is no live handle");
    }
    if (GivenHandles* innermost = GivenHandles::innermost()) innermost->keep(handle);
  });
}

htone_status htone_scope_end(htone_scope* scope) {
  return guard([&] { end_scope(scope); });
}

htone_status htone_scope_end_later(htone_scope* scope) {
  return guard([&] { end_scope_later(scope); });
}

htone_status htone_scope_stack_create(htone_scope_stack** out) { return Call(make<ScopeStack>, out); }

htone_status htone_scope_stack_enter(htone_scope_stack* stack) { return Call(&ScopeStack::enter, stack); }

htone_status htone_scope_stack_leave(htone_scope_stack* stack) { return Call(leave, stack); }
