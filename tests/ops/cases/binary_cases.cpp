// Arithmetic on two inputs that broadcast.
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

Draw whole(const Draw& draw) {
  return [draw](std::mt19937& random, const Shapes& shapes, int64_t i) { return std::ceil(draw(random, shapes, i)); };
}

// Operands of two dtypes: the wider float wins, but a scalar of the same kind follows the tensor.
OpCase mixed_case(const char* what, const OpCase& plain, DType other, std::vector<Shapes> shapes, ResultDtype result) {
  OpCase mixed = plain;
  mixed.what = what;
  mixed.inputs[1] = {is_float(other) ? plain.inputs[1].draw : whole(plain.inputs[1].draw), other};
  mixed.shapes = std::move(shapes);
  mixed.dtypes = Dtypes::kFloats;
  mixed.results = {result};
  return mixed;
}

std::vector<OpCase> mixed_cases(const OpCase& plain) {
  const std::vector<Shapes> pairs = {{{7, 5}, {7, 5}}, {{7, 1}, {2, 1, 5}}};
  const std::vector<Shapes> scalars = {{{7, 5}, {}}, {{3, 5, 7}, {}}};
  // A scalar is widened or rounded to the compute type; this one is exact in it.
  OpCase exact = plain;
  exact.inputs[1].draw = distinct(53);
  return {mixed_case("with f32", plain, DType::kF32, pairs, f32_or_wider),
          mixed_case("with an f64 scalar", exact, DType::kF64, scalars, same),
          mixed_case("with i32", plain, DType::kI32, pairs, same)};
}

// Both operands' gradients go to one input.
OpCase square_case() {
  return {.op = Op::kMul,
          .what = "of an input with itself",
          .inputs = {{uniform(-2, 2)}},
          .shapes = {{{7, 5}}},
          .run = call_of_one([](const Tensor& x) { return ops::mul(x, x); }),
          .reference = each([](double x) { return x * x; })};
}

double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }
double smaller(double a, double b) { return a < b || std::isnan(a) ? a : b; }

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
      pair_case(Op::kMaximum, ops::maximum, distinct(), distinct(53), larger),
      pair_case(Op::kMinimum, ops::minimum, distinct(), distinct(53), smaller),
      where_case(),
  };
  for (OpCase& op_case : cases) {
    if (op_case.op == Op::kSub) op_case.dtypes = Dtypes::kSigned;  // a difference of unsigned numbers wraps
    if (op_case.op == Op::kDiv || op_case.op == Op::kPow) op_case.results = {float_or_f32};
    if (op_case.op == Op::kMaximum || op_case.op == Op::kMinimum) op_case.is_exact = true;
  }
  const std::vector<OpCase> plain(cases.begin(), cases.end() - 1);
  cases.push_back(square_case());
  for (const OpCase& op_case : {cases[5], cases[6], cases[7]}) cases.push_back(with_special_values(op_case));
  for (const OpCase& op_case : plain) {
    const std::vector<OpCase> mixed = mixed_cases(op_case);
    cases.insert(cases.end(), mixed.begin(), mixed.end());
  }
  return cases;
}

}  // namespace halftone
