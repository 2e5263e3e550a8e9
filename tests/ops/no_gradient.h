// The operations whose results are not differentiable, with the reason. op_list_test.cpp checks that exactly these have
// no gradient.
#pragma once

#include "ops/dispatch/op.h"

namespace halftone {

struct NoGradient {
  Op op;
  const char* reason;
};

inline constexpr NoGradient kNoGradient[] = {
    {Op::kEq, "compares"},
    {Op::kNe, "compares"},
    {Op::kLt, "compares"},
    {Op::kLe, "compares"},
    {Op::kGt, "compares"},
    {Op::kGe, "compares"},
    {Op::kEqScalar, "compares"},
    {Op::kNeScalar, "compares"},
    {Op::kLtScalar, "compares"},
    {Op::kLeScalar, "compares"},
    {Op::kGtScalar, "compares"},
    {Op::kGeScalar, "compares"},
    {Op::kLogicalAnd, "returns bools"},
    {Op::kLogicalOr, "returns bools"},
    {Op::kLogicalXor, "returns bools"},
    {Op::kLogicalNot, "returns bools"},
    {Op::kIsNan, "returns bools"},
    {Op::kIsFinite, "returns bools"},
    {Op::kIsInf, "returns bools"},
    {Op::kIsClose, "returns bools"},
    {Op::kBitwiseAnd, "has no floats"},
    {Op::kBitwiseOr, "has no floats"},
    {Op::kBitwiseXor, "has no floats"},
    {Op::kBitwiseNot, "has no floats"},
    {Op::kAny, "returns bools"},
    {Op::kAll, "returns bools"},
    {Op::kArgmax, "returns an index"},
    {Op::kArgmin, "returns an index"},
    {Op::kAccuracy, "counts"},
    {Op::kArgsort, "returns indices"},
    {Op::kMultinomial, "returns indices"},
    {Op::kNonzero, "returns indices"},
    {Op::kSearchsorted, "returns indices"},
    {Op::kIsin, "returns bools"},
    {Op::kAbsMax, "chooses a scale, which is a constant of the step"},
    {Op::kQuantizeScale, "chooses a scale, which is a constant of the step"},
    {Op::kQuantize, "rounds: its slope is 0 almost everywhere"},
    {Op::kRoundTo, "rounds: its slope is 0 almost everywhere"},
    {Op::kScaledMatmul, "its operands are 8-bit floats, and dtypes of gradients are a choice of the layer"},
};

constexpr bool leads_gradients(Op op) {
  for (const NoGradient& row : kNoGradient) {
    if (row.op == op) return false;
  }
  return true;
}

}  // namespace halftone
