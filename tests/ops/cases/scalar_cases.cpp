// Operations of a tensor and a number.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

using ScalarCall = Tensor (*)(const Tensor&, double);

DType i64_for_bool(DType dtype) { return dtype == DType::kBool ? DType::kI64 : dtype; }

template <class Function>
OpCase scalar_case(Op op, const char* what, ScalarCall call, double number, Function function) {
  return {.op = op,
          .what = what,
          .inputs = {{uniform(-2, 2)}},
          .shapes = shapes_of_one(),
          .run = call_of_one([=](const Tensor& x) { return call(x, number); }),
          // The number is rounded to the type that the sum is computed in, and the terms may cancel.
          .reference = each(function, [=](double x, double y) {
            return kFunctionError * (std::fabs(x) + std::fabs(number) + std::fabs(y));
          })};
}

// For the dtypes beyond the floats; small enough that no integer wraps.
OpCase whole_case(OpCase op_case, Dtypes dtypes) {
  op_case.dtypes = dtypes;
  op_case.results = {op_case.op == Op::kDivScalar ? float_or_f32 : i64_for_bool};
  return op_case;
}

std::vector<OpCase> arithmetic_cases() {
  return {
      scalar_case(Op::kAddScalar, "0.3", ops::add_scalar, 0.3, [](double x) { return x + 0.3; }),
      whole_case(scalar_case(Op::kAddScalar, "3", ops::add_scalar, 3, [](double x) { return x + 3; }),
                 Dtypes::kNumbers),
      scalar_case(Op::kSubScalar, "0.3", ops::sub_scalar, 0.3, [](double x) { return x - 0.3; }),
      whole_case(scalar_case(Op::kSubScalar, "-2", ops::sub_scalar, -2, [](double x) { return x + 2; }),
                 Dtypes::kArithmetic),
      scalar_case(Op::kMulScalar, "0.3", ops::mul_scalar, 0.3, [](double x) { return x * 0.3; }),
      whole_case(scalar_case(Op::kMulScalar, "3", ops::mul_scalar, 3, [](double x) { return x * 3; }),
                 Dtypes::kNumbers),
      whole_case(scalar_case(Op::kDivScalar, "0.3", ops::div_scalar, 0.3, [](double x) { return x / 0.3; }),
                 Dtypes::kNumbers),
  };
}

OpCase compare_case(Op op, ScalarCall call, bool (*holds)(double)) {
  return {.op = op,
          .inputs = {{coarse()}},
          .shapes = shapes_of_one(),
          .run = call_of_one([=](const Tensor& x) { return call(x, 1.0); }),
          .reference = each([holds](double x) { return holds(x) ? 1.0 : 0.0; }),
          .dtypes = Dtypes::kNumbers,
          .results = {as_bool},
          .is_exact = true};
}

}  // namespace

std::vector<OpCase> scalar_cases() {
  std::vector<OpCase> cases = arithmetic_cases();
  for (const OpCase& compare : {compare_case(Op::kEqScalar, ops::eq_scalar, [](double x) { return x == 1; }),
                                compare_case(Op::kNeScalar, ops::ne_scalar, [](double x) { return x != 1; }),
                                compare_case(Op::kLtScalar, ops::lt_scalar, [](double x) { return x < 1; }),
                                compare_case(Op::kLeScalar, ops::le_scalar, [](double x) { return x <= 1; }),
                                compare_case(Op::kGtScalar, ops::gt_scalar, [](double x) { return x > 1; }),
                                compare_case(Op::kGeScalar, ops::ge_scalar, [](double x) { return x >= 1; })}) {
    cases.push_back(compare);
  }
  return cases;
}

}  // namespace halftone
