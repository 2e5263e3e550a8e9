// The operations whose results lead no gradients, and why. op_list_test.cpp holds that these lead none and all others
// do.
#pragma once

#include "ops/op.h"

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
    {Op::kLogicalAnd, "answers bools"},
    {Op::kLogicalOr, "answers bools"},
    {Op::kLogicalNot, "answers bools"},
    {Op::kIsNan, "answers bools"},
    {Op::kIsFinite, "answers bools"},
    {Op::kAny, "answers bools"},
    {Op::kAll, "answers bools"},
    {Op::kArgmax, "answers an index"},
    {Op::kArgmin, "answers an index"},
    {Op::kAccuracy, "counts"},
};

constexpr bool leads_gradients(Op op) {
  for (const NoGradient& row : kNoGradient) {
    if (row.op == op) return false;
  }
  return true;
}

}  // namespace halftone
