#include "nn/transformer/residual.h"

#include <functional>
#include <utility>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/ops.h"

namespace halftone::nn {

namespace {

// Fused, the sum has the wider dtype of both terms, and the norm reads the sum as it is. A policy may want another.
bool policy_allows_fusing(Op norm) {
  if (!under_autocast()) return true;
  const AutocastClass add = scope().autocast->get(Op::kAdd);
  return (add == AutocastClass::kWidest || add == AutocastClass::kAsIs) &&
         scope().autocast->get(norm) != AutocastClass::kLow;
}

}  // namespace

// A hook may have replaced the result by one that repeats, or by one that cannot be added: the plain sum is made for
// both, and names the part in which it failed.
void Residual::add(Tensor branch) {
  const Tensor& x = sum();
  const bool fits = branch.shape() == x.shape() && &branch.device() == &x.device() &&
                    is_arithmetic_float(branch.dtype()) && is_arithmetic_float(x.dtype());
  if (fits) {
    branch_ = std::move(branch);
  } else {
    x_ = ops::add(x, branch);
  }
}

Tensor Residual::normalized(const RowNormModule& norm) {
  if (!is_fusable(norm)) return norm.run(sum());
  ops::SumAndNorm result;
  const auto compute = [&] { result = norm.forward_sum(x_, branch_); };
  norm.run_fused(std::ref(compute));
  x_ = std::move(result.sum);
  branch_ = Tensor();
  return std::move(result.norm);
}

const Tensor& Residual::sum() {
  if (branch_.defined()) x_ = ops::add(x_, std::exchange(branch_, Tensor()));
  return x_;
}

bool Residual::is_fusable(const RowNormModule& norm) const {
  return branch_.defined() && norm.may_be_fused() && policy_allows_fusing(norm.op());
}

}  // namespace halftone::nn
