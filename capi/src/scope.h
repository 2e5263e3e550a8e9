// A scope that a caller opened: what the thread's modes were before it.
#pragma once

#include <atomic>

#include "autograd/scope.h"
#include "core/error.h"
#include "core/ref.h"
#include "ops/autocast.h"

namespace halftone::capi {

struct OpenScope final : RefCounted {
  Scope before;
  uint64_t thread = 0;            // Scope::thread of the one that opened it
  int64_t depth = 0;              // how many scopes were open with this one
  Ref<AutocastPolicy> policy;     // kept for as long as the thread points to it
};

// Throws STATE in a callback that the library runs in the middle of a call, whose end would undo the change.
inline void require_no_call_under_way() {
  if (scope().guards > 0) fail(Code::kState, "", "scopes cannot be begun or ended inside another call of this thread");
}

// Notes the thread's modes before a change.
inline Ref<OpenScope> open_scope() {
  static constinit std::atomic<uint64_t> threads{0};
  require_no_call_under_way();
  if (scope().thread == 0) scope().thread = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  Ref<OpenScope> open = make_ref<OpenScope>();
  open->before = scope();
  open->thread = scope().thread;
  open->depth = scope().depth + 1;
  return open;
}

}  // namespace halftone::capi
