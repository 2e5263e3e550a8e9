// The state of a thread that the code that it calls reads without an argument: one struct for all layers, and one
// guard. Lower layers hold pointers to what upper layers define. Never shared with another thread. The struct is
// trivially destructible: destructors of other thread-local objects may still call the library while a thread ends.
#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone {

class AutocastPolicy;    // ops/dispatch/autocast.h
class CallLog;           // core/call_log.h
class Engine;            // autograd/engine.cpp
class ForwardKeysGuard;  // runtime/forward_keys.h
class KeyTape;           // runtime/key_tape.h
class Node;              // autograd/graph/node.h
class Observer;          // autograd/observer.h
struct OwnRecipe;        // ops/dispatch/recipe.h
class RecomputePass;     // autograd/recompute.h
class RecomputedTensors;
class RecordedKeys;  // runtime/recorded_keys.h
class RecordedStep;  // runtime/recorded_step.h
class RunningLayer;  // autograd/scope.h
class StreamScope;   // runtime/stream_scope.h

namespace capi {
class GivenHandles;  // base/given_handles.h
class ScopeStack;    // scope/scope.h
struct OpenScope;    // scope/scope.h
}  // namespace capi

// The values that operations look for in their results (autograd/anomaly.h).
enum class Anomaly : uint8_t { kNothing, kNan, kNotFinite };

// The modes that scopes of the C API change.
struct ScopeModes {
  bool grad_enabled = true;
  bool defers_weights = false;  // modules are made without memory for their weights
  Anomaly anomaly = Anomaly::kNothing;
  const AutocastPolicy* autocast = nullptr;  // borrowed; the open scope keeps it
};

// The modes that a ScopeGuard sets back.
struct Modes : ScopeModes {
  bool in_backward = false;                 // a backward of this thread is under way
  Engine* engine = nullptr;                 // that backward
  const Node* node = nullptr;               // whose backward runs
  RecomputedTensors* recomputed = nullptr;  // what that backward has made again
  RecomputePass* recompute = nullptr;       // the forward of a recompute region that runs
};

// The part that autograd, operations and modules read, by scope() of autograd/scope.h.
struct Scope : Modes {
  const RunningLayer* layer = nullptr;  // the innermost
  const OwnRecipe* recipe = nullptr;    // of the innermost module that has one; null: the policy's holds
  uint64_t next_sequence = 0;           // numbers the nodes that this thread records
  int64_t depth = 0;                    // scopes of the C API that are open
  int64_t base = 0;                     // depth at which the innermost callback under way began
  int64_t guards = 0;                   // ScopeGuards that are open since then: calls that set the modes back
};

// Each pointer is that of the innermost object of its class; null where there is none.
struct Thread {
  Scope scope;
  const char* name = "thread";            // in traces
  const char* trace_span = nullptr;       // the name of the innermost span; null without a trace
  Observer* observer = nullptr;           // of results; null: none
  CallLog* call_log = nullptr;            // of the call of the C API under way
  RecordedStep* recorded_step = nullptr;  // the recording under way
  RecordedKeys* recorded_keys = nullptr;  // its random keys
  ForwardKeysGuard* forward_keys = nullptr;
  KeyTape* key_tape = nullptr;
  StreamScope* stream_scope = nullptr;
  capi::OpenScope* open_scope = nullptr;
  capi::GivenHandles* given_handles = nullptr;
  capi::ScopeStack* scope_stack = nullptr;        // that this thread has entered
  capi::ScopeStack* outer_scope_stack = nullptr;  // that it had entered when the innermost callback under way began
  bool decides_interruption = false;              // the callback of core/interrupt.h runs
  uint64_t storage_mark = 0;                      // that new storages get (tensor/storage.h); 0: none
};

inline Thread& thread() noexcept {
  static thread_local constinit Thread current;
  return current;
}

// The part that a ScopeGuard sets back.
inline Modes& modes() noexcept { return thread().scope; }

// Sets a part of this thread's state until the end of a block, which may change the part again. `part` is a member of
// Thread or Scope, or a function that returns the part. The guard holds the former value alone: calls in one another
// have several guards each on the stack, which may have 64 KiB.
template <auto part>
class ThreadGuard {
  static auto& current() noexcept {
    if constexpr (std::is_invocable_v<decltype(part)>) {
      return part();
    } else if constexpr (std::is_invocable_v<decltype(part), Thread&>) {
      return thread().*part;
    } else {
      return thread().scope.*part;
    }
  }
  using Part = std::remove_reference_t<decltype(current())>;

 public:
  ThreadGuard() noexcept : outer_(current()) {}
  explicit ThreadGuard(Part value) noexcept : ThreadGuard() { current() = value; }
  ~ThreadGuard() { current() = outer_; }
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

  // The part's value around the block.
  const Part& outer() const noexcept { return outer_; }

 private:
  const Part outer_;
};

}  // namespace halftone
