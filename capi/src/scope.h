// A scope that a caller opened: what the thread's modes were before it.
#pragma once

#include "autograd/scope.h"
#include "core/ref.h"
#include "ops/autocast.h"

namespace halftone::capi {

struct OpenScope final : RefCounted {
  Scope before;
  const Scope* thread = nullptr;  // the thread's own modes: tells threads apart
  int64_t depth = 0;              // how many scopes were open with this one
  Ref<AutocastPolicy> policy;     // kept for as long as the thread points to it
};

// Notes the thread's modes before a change.
inline Ref<OpenScope> open_scope() {
  Ref<OpenScope> open = make_ref<OpenScope>();
  open->before = scope();
  open->thread = &scope();
  open->depth = scope().depth + 1;
  return open;
}

}  // namespace halftone::capi
