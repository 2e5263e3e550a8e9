// The modes of a thread: whether operations record, and autocast. One trivially destructible object a thread; guards
// save and restore its modes. ops/dispatch/record.h and ops/dispatch/autocast.h act on it; kernels never see it.
#pragma once

#include <cstdint>
#include <string>

namespace halftone {

class AutocastPolicy;  // ops/dispatch/autocast.h
class Engine;          // autograd/engine.cpp
class Node;            // autograd/node.h
class RecomputePass;   // autograd/recompute.h
class RecomputedTensors;

// The layer that a thread computes, for messages. nn::Module::run has one on its stack.
class RunningLayer {
 public:
  // "layer 0.fc1 (linear)"; empty for the outermost module.
  virtual std::string place() const = 0;
  // "0.fc1"; empty for the outermost module.
  virtual std::string path() const = 0;

 protected:
  ~RunningLayer() = default;
};

// The values that operations look for in their results (autograd/anomaly.h).
enum class Anomaly : uint8_t { kNothing, kNan, kNotFinite };

// The modes that a ScopeGuard sets back.
struct Modes {
  bool grad_enabled = true;
  bool in_backward = false;                  // a backward of this thread is under way
  Engine* engine = nullptr;                  // that backward
  const Node* node = nullptr;                // whose backward runs
  RecomputedTensors* recomputed = nullptr;   // what that backward has made again
  RecomputePass* recompute = nullptr;        // the forward of a recompute region that runs
  const AutocastPolicy* autocast = nullptr;  // borrowed; the open scope keeps it
};

struct Scope : Modes {
  Anomaly anomaly = Anomaly::kNothing;
  bool defers_weights = false;          // modules are made without memory for their weights
  const RunningLayer* layer = nullptr;  // the innermost
  uint64_t next_sequence = 0;           // numbers the nodes that this thread records
  int64_t depth = 0;                    // scopes of the C API that are open
  int64_t base = 0;                     // depth at which the innermost callback under way began
  int64_t guards = 0;                   // ScopeGuards that are open since then: calls that set the modes back
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
    static_cast<Modes&>(scope()) = saved_;
  }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  const Modes saved_;  // small: callbacks in one another have one guard each on the stack
};

}  // namespace halftone
