// Arithmetic on two or three inputs that broadcast.
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
                   .shapes = shapes_of_three(),
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

// Each step is rounded, and the terms may cancel.
std::function<Arrays(const Arrays&)> each_sum(const std::function<double(double, double, double)>& term) {
  return [term](const Arrays& in) {
    Array out(joined(in[0].shape, joined(in[1].shape, in[2].shape)));
    int64_t i = 0;
    for_each_index(out.shape, [&](const Shape& index) {
      const double x = in[0][repeated_place_of(in[0].shape, index)];
      const double added =
          term(x, in[1][repeated_place_of(in[1].shape, index)], in[2][repeated_place_of(in[2].shape, index)]);
      out[i++] = x + added;
      out.slack.push_back(kFunctionError * (std::fabs(x) + std::fabs(added)));
    });
    return Arrays{out};
  };
}

OpCase addcmul_case(const char* what, double value, const std::vector<OpInput>& inputs) {
  return {.op = Op::kAddcmul,
          .what = what,
          .inputs = inputs,
          .shapes = shapes_of_three(),
          .run = [=](const Tensors& in) { return Tensors{ops::addcmul(in[0], in[1], in[2], value)}; },
          .reference = each_sum([=](double, double a, double b) { return value * a * b; })};
}

std::vector<OpCase> addcmul_cases() {
  const OpInput real = {uniform(-2, 2)};
  OpCase whole_number = addcmul_case("3", 3, {real, real, real});
  whole_number.dtypes = Dtypes::kArithmetic;
  OpCase with_f32 = addcmul_case("0.3, with f32", 0.3, {real, real, {uniform(-2, 2), DType::kF32}});
  with_f32.shapes = {{{7, 5}, {5}, {7, 5}}};
  with_f32.results = {f32_or_wider};
  OpCase with_f64_scalar = addcmul_case("0.3, with an f64 scalar", 0.3, {{distinct(53), DType::kF64}, real, real});
  with_f64_scalar.shapes = {{{}, {7, 5}, {7, 1}}};
  OpCase with_i32 = addcmul_case("0.3, with i32", 0.3, {real, {whole(real.draw), DType::kI32}, real});
  with_i32.shapes = {{{7, 5}, {7, 5}, {}}};
  return {addcmul_case("0.3", 0.3, {real, real, real}),
          addcmul_case("1", 1, {real, real, real}),
          whole_number,
          with_f32,
          with_f64_scalar,
          with_i32};
}

OpCase addcdiv_case(double value) {
  return {.op = Op::kAddcdiv,
          .inputs = {{uniform(-2, 2)}, {uniform(-2, 2)}, {uniform(0.5, 2)}},
          .shapes = shapes_of_three(),
          .run = [=](const Tensors& in) { return Tensors{ops::addcdiv(in[0], in[1], in[2], value)}; },
          .reference = each_sum([=](double, double a, double b) { return value * a / b; })};
}

std::vector<OpCase> lerp_cases() {
  OpCase tensor = {.op = Op::kLerp,
                   .inputs = {{uniform(-2, 2)}, {uniform(-2, 2)}, {uniform(-0.5, 1.5)}},
                   .shapes = shapes_of_three(),
                   .run = [](const Tensors& in) { return Tensors{ops::lerp(in[0], in[1], in[2])}; },
                   .reference = each_sum([](double x, double end, double weight) { return weight * (end - x); }),
                   .slope_terms = 4};
  std::vector<OpCase> cases = {tensor};
  for (const double weight : {0.3, 0.75}) {
    OpCase number = tensor;
    number.op = Op::kLerpScalar;
    number.what = weight < 0.5 ? "near the input" : "near the end";
    number.inputs.pop_back();
    number.shapes = shapes_of_two();
    number.run = [=](const Tensors& in) { return Tensors{ops::lerp_scalar(in[0], in[1], weight)}; };
    number.reference = [=, of_three = tensor.reference](Arrays in) {
      in.emplace_back(Shape{});
      in[2][0] = weight;
      return of_three(in);
    };
    cases.push_back(number);
  }
  return cases;
}

// Away from the jump of the angle, and where the sum of exponentials is above 1, so that its logarithm is not near 0.
std::vector<OpCase> curve_cases() {
  const Draw positive = uniform(0.5, 2);
  std::vector<OpCase> cases = {
      pair_case(Op::kAtan2, ops::atan2, uniform(-2, 2), positive, [](double a, double b) { return std::atan2(a, b); }),
      pair_case(Op::kLogaddexp, ops::logaddexp, positive, positive,
                [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); })};
  for (OpCase& op_case : cases) op_case.results = {float_or_f32};
  const OpCase angle = cases[0];
  for (const OpCase& mixed : mixed_cases(angle)) {
    if (mixed.inputs[1].dtype == DType::kF32) cases.push_back(mixed);
  }
  return cases;
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
  for (const std::vector<OpCase>& part : {addcmul_cases(), lerp_cases(), curve_cases()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  cases.push_back(addcdiv_case(0.3));
  cases.push_back(square_case());
  for (const OpCase& op_case : {cases[5], cases[6], cases[7]}) cases.push_back(with_special_values(op_case));
  for (const OpCase& op_case : plain) {
    const std::vector<OpCase> mixed = mixed_cases(op_case);
    cases.insert(cases.end(), mixed.begin(), mixed.end());
  }
  return cases;
}

}  // namespace halftone
