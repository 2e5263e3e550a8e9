#include "nn/transformer/residual.h"

#include <functional>
#include <optional>
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

// A hook must see the norm before its cast.
bool runs_hooks(const Module& module) {
  bool found = module.runs_callers_code();
  for (size_t i = 0; const Module* child = module.child(i); ++i) found = found || runs_hooks(*child);
  return found;
}

// The dtype to which a linear layer of `reader` casts a norm in FP32.
std::optional<DType> linear_dtype(const Module& reader) {
  if (!under_autocast() || scope().autocast->get(Op::kLinear) != AutocastClass::kLow || runs_hooks(reader)) return {};
  return scope().autocast->dtype();
}

bool is_fp32(Op norm, const Tensor& x, const Tensor& branch) {
  const DType sum = promote(x.dtype(), branch.dtype());
  return autocast_operand_dtype(norm, sum, sum) == DType::kF32;
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

Tensor Residual::normalized(const RowNormModule& norm) { return normalized_as({}, norm); }

Tensor Residual::normalized_for(const Module& reader, const RowNormModule& norm) {
  const bool may_cast = is_fusable(norm) && is_fp32(norm.op(), x_, branch_);
  return normalized_as(may_cast ? linear_dtype(reader) : std::nullopt, norm);
}

Tensor Residual::normalized_as(std::optional<DType> result, const RowNormModule& norm) {
  if (!is_fusable(norm)) return norm.run(sum());
  ops::SumAndNorm made;
  const auto compute = [&] { made = norm.forward_sum(x_, branch_, result); };
  norm.run_fused(std::ref(compute));
  x_ = std::move(made.sum);
  branch_ = Tensor();
  return std::move(made.norm);
}

const Tensor& Residual::sum() {
  if (branch_.defined()) x_ = ops::add(x_, std::exchange(branch_, Tensor()));
  return x_;
}

bool Residual::is_fusable(const RowNormModule& norm) const {
  return branch_.defined() && norm.may_be_fused() && policy_allows_fusing(norm.op());
}

}  // namespace halftone::nn
