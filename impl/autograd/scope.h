// The modes of a thread: whether operations record, and autocast. One trivially destructible object a thread; guards
// save and restore it whole. ops/dispatch/record.h and ops/dispatch/autocast.h act on it; kernels never see it.
#pragma once

#include <cstdint>

namespace halftone {

class AutocastPolicy;  // ops/dispatch/autocast.h
class Engine;          // autograd/engine.cpp

struct Scope {
  bool grad_enabled = true;
  bool in_backward = false;                  // a backward of this thread is under way
  Engine* engine = nullptr;                  // that backward
  const AutocastPolicy* autocast = nullptr;  // borrowed; the open scope keeps it
  uint64_t next_sequence = 0;                // numbers the nodes that this thread records
  int64_t depth = 0;                         // scopes of the C API that are open
  int64_t guards = 0;                        // ScopeGuards that are open: calls of the library under way
};

inline Scope& scope() noexcept {
  static thread_local constinit Scope current;
  return current;
}

// Changes modes until the end of a block.
class ScopeGuard {
 public:
  ScopeGuard() noexcept : saved_(scope()) { ++scope().guards; }
  ~ScopeGuard() {
    --scope().guards;
    scope().grad_enabled = saved_.grad_enabled;
    scope().in_backward = saved_.in_backward;
    scope().engine = saved_.engine;
    scope().autocast = saved_.autocast;
  }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Scope saved_;
};

}  // namespace halftone
