#include "autograd/observer.h"

#include "autograd/recompute.h"

namespace halftone {

void show_result(const char* op, const Tensor& result, std::span<const Tensor* const> inputs) {
  if (scope().in_backward || is_recomputing()) return;
  const ThreadGuard<&Thread::observer> unobserved(nullptr);
  const ScopeGuard restore;
  scope().grad_enabled = false;
  scope().autocast = nullptr;
  scope().recompute = nullptr;  // a region keeps none of the observer's tensors
  unobserved.outer()->saw({.op = op, .layer = scope().layer, .result = result, .inputs = inputs});
}

void watch_result(const char* op, const Tensor& result, std::span<const Tensor* const> inputs) {
  if (in_anomaly_mode()) check_result(op, result, inputs);
  if (is_observed()) show_result(op, result, inputs);
}

}  // namespace halftone
