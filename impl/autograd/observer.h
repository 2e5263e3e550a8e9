// An observer sees the results of a thread's operations and leaves them as they are: layers stay fused, which hooks
// prevent. It is a part of the thread's state; a guard installs it until the end of a block:
//   const ThreadGuard<&Thread::observer> watched(&observer);
#pragma once

#include <span>

#include "autograd/anomaly.h"
#include "autograd/scope.h"
#include "tensor/tensor.h"

namespace halftone {

// An operation that has been queued. References are valid during the call.
struct Recorded {
  const char* op;             // "linear"
  const RunningLayer* layer;  // the innermost module that computes it; null outside of modules
  const Tensor& result;
  std::span<const Tensor* const> inputs;  // undefined where absent
};

class Observer {
 public:
  // Called once for each result of every operation of forward that can be recorded, whether it is recorded or not, such
  // as under no_grad. A fused operation is one operation. Backward is not seen, nor is the second run of a forward that
  // is recomputed. The operations that this function calls are neither seen nor recorded, and have no autocast; it must
  // not draw random numbers, which a second run would lack. What it throws fails the operation.
  virtual void saw(const Recorded& recorded) = 0;

 protected:
  ~Observer() = default;
};

inline bool is_observed() noexcept { return thread().observer != nullptr; }
// Shows a result to the thread's observer. REQUIRES: is_observed().
void show_result(const char* op, const Tensor& result, std::span<const Tensor* const> inputs);

// True if results must go to watch_result.
inline bool is_watched() noexcept { return in_anomaly_mode() || is_observed(); }
// Checks a result in anomaly mode, and shows it to an observer.
void watch_result(const char* op, const Tensor& result, std::span<const Tensor* const> inputs);

}  // namespace halftone
