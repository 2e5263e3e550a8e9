// Functions of one input that are constant between their jumps. No drawn float is on a jump.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

OpCase step_case(Op op, UnaryCall call, double (*function)(double), Dtypes dtypes) {
  return {.op = op,
          .inputs = {{distinct()}},
          .shapes = shapes_of_one(),
          .run = call_of_one(call),
          .reference = each(function),
          .dtypes = dtypes,
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> step_cases() {
  return {
      step_case(
          Op::kFloor, ops::floor, [](double x) { return std::floor(x); }, Dtypes::kArithmetic),
      step_case(
          Op::kCeil, ops::ceil, [](double x) { return std::ceil(x); }, Dtypes::kArithmetic),
      step_case(
          Op::kRound, ops::round, [](double x) { return std::nearbyint(x); }, Dtypes::kArithmetic),
      step_case(
          Op::kTrunc, ops::trunc, [](double x) { return std::trunc(x); }, Dtypes::kArithmetic),
      step_case(
          Op::kSign, ops::sign, [](double x) { return x > 0   ? 1.0
                                                      : x < 0 ? -1.0
                                                              : 0.0; }, Dtypes::kNumbers),
  };
}

}  // namespace halftone
