// Arithmetic of two inputs that broadcast.
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

OpCase pair_case(Op op, BinaryCall call, Draw a, Draw b, double (*function)(double, double)) {
  return {.op = op,
          .inputs = {{std::move(a)}, {std::move(b)}},
          .shapes = shapes_of_two(),
          .run = call_of_two(call),
          .reference = each_pair(function),
          .dtypes = Dtypes::kArithmetic};
}

OpCase where_case() {
  OpCase result = {.op = Op::kWhere,
                   .inputs = {mask_input(), {uniform(-2, 2)}, {uniform(-2, 2)}},
                   .shapes = {{{0, 3}, {0, 3}, {0, 3}},
                              {{1}, {1}, {1}},
                              {{7, 5}, {7, 5}, {7, 5}},
                              {{5}, {2, 1, 1}, {3, 1}},
                              {{7, 1}, {}, {7, 5}},
                              {{15, 2305}, {15, 2305}, {15, 2305}}},
                   .dtypes = Dtypes::kNumbers,
                   .is_exact = true};
  result.run = [](const Tensors& in) { return Tensors{ops::where(in[0], in[1], in[2])}; };
  result.reference = [](const Arrays& in) {
    Array out(joined(in[0].shape, joined(in[1].shape, in[2].shape)));
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& index) {
      const Array& chosen = in[0][repeated_place_of(in[0].shape, index)] != 0 ? in[1] : in[2];
      out[i++] = chosen[repeated_place_of(chosen.shape, index)];
    });
    return Arrays{out};
  };
  return result;
}

}  // namespace

std::vector<OpCase> binary_cases() {
  const Draw real = uniform(-2, 2);
  const Draw positive = uniform(0.5, 2);
  std::vector<OpCase> cases = {
      pair_case(Op::kAdd, ops::add, real, real, [](double a, double b) { return a + b; }),
      pair_case(Op::kSub, ops::sub, real, real, [](double a, double b) { return a - b; }),
      pair_case(Op::kMul, ops::mul, real, real, [](double a, double b) { return a * b; }),
      pair_case(Op::kDiv, ops::div, real, positive, [](double a, double b) { return a / b; }),
      pair_case(Op::kPow, ops::pow, positive, real, [](double a, double b) { return std::pow(a, b); }),
      pair_case(Op::kMaximum, ops::maximum, distinct(), distinct(53), [](double a, double b) { return a > b ? a : b; }),
      pair_case(Op::kMinimum, ops::minimum, distinct(), distinct(53), [](double a, double b) { return a < b ? a : b; }),
      where_case(),
  };
  for (OpCase& op_case : cases) {
    if (op_case.op == Op::kSub) op_case.dtypes = Dtypes::kSigned;  // a difference of unsigned numbers wraps
    if (op_case.op == Op::kDiv || op_case.op == Op::kPow) op_case.results = {float_or_f32};
    if (op_case.op == Op::kMaximum || op_case.op == Op::kMinimum) op_case.is_exact = true;
  }
  return cases;
}

}  // namespace halftone
