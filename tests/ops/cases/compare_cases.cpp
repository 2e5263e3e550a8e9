// Comparisons and logic.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

OpCase compare_case(Op op, BinaryCall call, bool (*holds)(double, double)) {
  return {.op = op,
          .inputs = {{coarse()}, {coarse()}},
          .shapes = shapes_of_two(),
          .run = call_of_two(call),
          .reference = each_pair([holds](double a, double b) { return holds(a, b) ? 1.0 : 0.0; }),
          .dtypes = Dtypes::kNumbers,
          .results = {as_bool},
          .is_exact = true};
}

Tensor within(const Tensor& a, const Tensor& b) { return ops::is_close(a, b, {0.25, 0.5, false}); }
Tensor within_or_nan(const Tensor& a, const Tensor& b) { return ops::is_close(a, b, {0.25, 0.5, true}); }
bool is_within(double a, double b) {
  return a == b || (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= 0.5 + 0.25 * std::fabs(b));
}

OpCase examine_case(Op op, UnaryCall call, bool (*holds)(double)) {
  return {.op = op,
          .inputs = {{coarse()}},
          .shapes = shapes_of_one(),
          .run = call_of_one(call),
          .reference = each([holds](double x) { return holds(x) ? 1.0 : 0.0; }),
          .dtypes = Dtypes::kNumbers,
          .results = {as_bool},
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> compare_cases() {
  return {
      compare_case(Op::kEq, ops::eq, [](double a, double b) { return a == b; }),
      compare_case(Op::kNe, ops::ne, [](double a, double b) { return a != b; }),
      compare_case(Op::kLt, ops::lt, [](double a, double b) { return a < b; }),
      compare_case(Op::kLe, ops::le, [](double a, double b) { return a <= b; }),
      compare_case(Op::kGt, ops::gt, [](double a, double b) { return a > b; }),
      compare_case(Op::kGe, ops::ge, [](double a, double b) { return a >= b; }),
      compare_case(Op::kLogicalAnd, ops::logical_and, [](double a, double b) { return a != 0 && b != 0; }),
      compare_case(Op::kLogicalOr, ops::logical_or, [](double a, double b) { return a != 0 || b != 0; }),
      compare_case(Op::kLogicalXor, ops::logical_xor, [](double a, double b) { return (a != 0) != (b != 0); }),
      compare_case(Op::kIsClose, within, is_within),
      compare_case(Op::kIsClose, within_or_nan,
                   [](double a, double b) { return is_within(a, b) || (std::isnan(a) && std::isnan(b)); }),
      examine_case(Op::kLogicalNot, ops::logical_not, [](double x) { return x == 0; }),
      examine_case(Op::kIsNan, ops::is_nan, [](double x) { return std::isnan(x); }),
      examine_case(Op::kIsFinite, ops::is_finite, [](double x) { return std::isfinite(x); }),
      examine_case(Op::kIsInf, ops::is_inf, [](double x) { return std::isinf(x); }),
  };
}

}  // namespace halftone
