#include "finite_difference.h"

#include <cmath>

#include "autograd/scope.h"
#include "tolerance.h"

namespace halftone {

namespace {

// Error of a result in f64.
constexpr double kResultError = 2 * kFunctionError * half_step(DType::kF64).relative;

std::vector<std::vector<double>> results_at(const OpCase& op_case, ContextDevice& device, const Arrays& inputs) {
  const ScopeGuard restore;
  scope().grad_enabled = false;
  const OpCall call(op_case, device, DType::kF64, inputs, {"contiguous", {Layout::kContiguous}});
  std::vector<std::vector<double>> values;
  for (const Tensor& result : call.run()) values.push_back(elements_of(result));
  return values;
}

}  // namespace

Slope slope_of(const OpCase& op_case, ContextDevice& device, const Arrays& inputs, const Arrays& weights, size_t which,
               int64_t at) {
  Arrays moved = inputs;
  moved[which][at] = inputs[which][at] + kHalfWidth;
  const auto above = results_at(op_case, device, moved);
  moved[which][at] = inputs[which][at] - kHalfWidth;
  const auto below = results_at(op_case, device, moved);
  Slope slope;
  for (size_t k = 0; k < weights.size(); ++k) {
    for (size_t i = 0; i < weights[k].values.size(); ++i) {
      if (above[k][i] == below[k][i]) continue;
      const double weight = weights[k].values[i];
      const double term = weight * (above[k][i] - below[k][i]) / (2 * kHalfWidth);
      slope.value += term;
      slope.magnitude += std::fabs(term);
      slope.noise += std::fabs(weight * above[k][i]) * kResultError / kHalfWidth;
      slope.weights += std::fabs(weight);
      slope.reached += 1;
    }
  }
  return slope;
}

}  // namespace halftone
