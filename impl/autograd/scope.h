// The modes of a thread: whether operations record, and autocast. One trivially destructible object a thread; guards
// save and restore it whole. ops/dispatch/record.h and ops/dispatch/autocast.h act on it; kernels never see it.
#pragma once

#include <cstdint>
#include <string>

namespace halftone {

class AutocastPolicy;  // ops/dispatch/autocast.h
class Engine;          // autograd/engine.cpp
class Node;            // autograd/node.h

// The layer that a thread computes, for messages. nn::Module::run has one on its stack.
class RunningLayer {
 public:
  // "layer 0.fc1 (linear)"; empty for the outermost module.
  virtual std::string place() const = 0;

 protected:
  ~RunningLayer() = default;
};

// The values that operations look for in their results (autograd/anomaly.h).
enum class Anomaly : uint8_t { kNothing, kNan, kNotFinite };

struct Scope {
  bool grad_enabled = true;
  bool in_backward = false;    // a backward of this thread is under way
  Engine* engine = nullptr;    // that backward
  const Node* node = nullptr;  // whose backward runs
  Anomaly anomaly = Anomaly::kNothing;
  const AutocastPolicy* autocast = nullptr;  // borrowed; the open scope keeps it
  const RunningLayer* layer = nullptr;       // the innermost
  uint64_t next_sequence = 0;                // numbers the nodes that this thread records
  int64_t depth = 0;                         // scopes of the C API that are open
  int64_t base = 0;                          // depth at which the innermost callback under way began
  int64_t guards = 0;                        // ScopeGuards that are open since then: calls that set the modes back
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
    scope().node = saved_.node;
    scope().autocast = saved_.autocast;
  }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Scope saved_;
};

}  // namespace halftone
