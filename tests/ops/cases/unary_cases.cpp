// Functions of one input.
#include <algorithm>
#include <cmath>

#include "calls.h"
#include "ops/ops.h"

namespace halftone {

namespace {

const Draw kReal = uniform(-2, 2);
const Draw kPositive = uniform(0.5, 2);

template <class Function>
OpCase function_case(Op op, UnaryCall call, Draw draw, Function function) {
  return {.op = op,
          .inputs = {{std::move(draw)}},
          .shapes = shapes_of_one(),
          .run = call_of_one(call),
          .reference = each(function),
          .dtypes = Dtypes::kNumbers,
          .results = {float_or_f32}};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double erf_gelu(double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }
double tanh_gelu(double x) {
  const double inner = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  return x * sigmoid(2 * inner);
}

double selu(double x) { return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x)); }

// The errors of a sum of about 1 that is multiplied by x.
double slack_of_gate(double x, double) { return kFunctionError * std::fabs(x); }
double slack_at_one(double, double) { return kFunctionError; }

std::vector<OpCase> elementary_cases() {
  std::vector<OpCase> cases = {
      function_case(Op::kExp, ops::exp, kReal, [](double x) { return std::exp(x); }),
      function_case(Op::kLog, ops::log, kPositive, [](double x) { return std::log(x); }),
      function_case(Op::kSqrt, ops::sqrt, kPositive, [](double x) { return std::sqrt(x); }),
      function_case(Op::kRsqrt, ops::rsqrt, kPositive, [](double x) { return 1 / std::sqrt(x); }),
      function_case(Op::kReciprocal, ops::reciprocal, kPositive, [](double x) { return 1 / x; }),
      function_case(Op::kSin, ops::sin, kReal, [](double x) { return std::sin(x); }),
      function_case(Op::kCos, ops::cos, kReal, [](double x) { return std::cos(x); }),
      function_case(Op::kErf, ops::erf, kReal, [](double x) { return std::erf(x); }),
      function_case(Op::kLog1p, ops::log1p, uniform(0, 2), [](double x) { return std::log1p(x); }),
      function_case(Op::kExpm1, ops::expm1, kReal, [](double x) { return std::expm1(x); }),
      function_case(Op::kTan, ops::tan, uniform(-1.2, 1.2), [](double x) { return std::tan(x); }),
      function_case(Op::kLog2, ops::log2, kPositive, [](double x) { return std::log2(x); }),
      function_case(Op::kLog10, ops::log10, kPositive, [](double x) { return std::log10(x); }),
      function_case(Op::kAbs, ops::abs, distinct(), [](double x) { return std::fabs(x); }),
      function_case(Op::kNeg, ops::neg, kReal, [](double x) { return -x; }),
  };
  for (OpCase& op_case : cases) {
    if (op_case.op == Op::kCos) op_case.reference = each([](double x) { return std::cos(x); }, slack_at_one);
    // The derivative is computed from the result y as y + 1, which is smaller than y by up to this factor.
    if (op_case.op == Op::kExpm1) op_case.gradient_roundings = 12;
    const bool is_moved = op_case.op == Op::kAbs || op_case.op == Op::kNeg;
    if (!is_moved) continue;
    op_case.is_exact = true;
    op_case.results = {same};
    op_case.dtypes = op_case.op == Op::kAbs ? Dtypes::kArithmetic : Dtypes::kSigned;
  }
  return cases;
}

std::vector<OpCase> activation_cases() {
  std::vector<OpCase> cases = {
      function_case(Op::kSigmoid, ops::sigmoid, kReal, sigmoid),
      function_case(Op::kTanh, ops::tanh, uniform(-1, 1), [](double x) { return std::tanh(x); }),
      function_case(Op::kSilu, ops::silu, kReal, [](double x) { return x * sigmoid(x); }),
      function_case(Op::kSoftplus, ops::softplus, kReal, [](double x) { return std::log1p(std::exp(x)); }),
      function_case(Op::kHardswish, ops::hardswish, kReal,
                    [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }),
      function_case(Op::kMish, ops::mish, kReal, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }),
      function_case(Op::kSelu, ops::selu, distinct(), selu),
      function_case(Op::kLogSigmoid, ops::log_sigmoid, kReal, [](double x) { return -std::log1p(std::exp(-x)); }),
  };
  // Derivatives are computed from results y close to 1: 1 - y and 1 - y^2 are smaller than y by up to these factors.
  cases[0].gradient_roundings = 12;
  cases[1].gradient_roundings = 8;
  for (OpCase& op_case : cases) {
    const bool cancels = op_case.op == Op::kSilu || op_case.op == Op::kHardswish || op_case.op == Op::kMish;
    if (cancels) op_case.slope_terms = 2;
  }
  return cases;
}

OpCase float_case(Op op, const char* what, Draw draw, std::function<Tensor(const Tensor&)> call) {
  return {.op = op,
          .what = what,
          .inputs = {{std::move(draw)}},
          .shapes = shapes_of_one(),
          .run = call_of_one(std::move(call))};
}

std::vector<OpCase> float_cases() {
  OpCase relu = float_case(Op::kRelu, "", distinct(), ops::relu);
  relu.reference = each([](double x) { return x < 0 ? 0 : x; });
  relu.is_exact = true;
  OpCase leaky = float_case(Op::kLeakyRelu, "", distinct(), [](const Tensor& x) { return ops::leaky_relu(x, 0.1); });
  leaky.reference = each([](double x) { return x > 0 ? x : 0.1 * x; });
  OpCase elu = float_case(Op::kElu, "", distinct(), [](const Tensor& x) { return ops::elu(x, 1.5); });
  elu.reference = each([](double x) { return x > 0 ? x : 1.5 * std::expm1(x); });
  OpCase erf =
      float_case(Op::kGelu, "by erf", kReal, [](const Tensor& x) { return ops::gelu(x, ops::GeluForm::kErf); });
  erf.reference = each(erf_gelu, slack_of_gate);
  OpCase tanh =
      float_case(Op::kGelu, "by tanh", kReal, [](const Tensor& x) { return ops::gelu(x, ops::GeluForm::kTanh); });
  tanh.reference = each(tanh_gelu, slack_of_gate);
  for (OpCase* gelu : {&erf, &tanh}) gelu->slope_terms = 2;
  // The bounds are not multiples of 1/128, so rounding moves no element across them.
  OpCase clamp = float_case(Op::kClamp, "", distinct(), [](const Tensor& x) { return ops::clamp(x, -0.5, 0.75); });
  clamp.reference = each([](double x) { return x < -0.5 ? -0.5 : x > 0.75 ? 0.75 : x; });
  clamp.is_exact = true;
  OpCase finite =
      float_case(Op::kNanToNum, "", distinct(), [](const Tensor& x) { return ops::nan_to_num(x, 0.5, 1.5, -1.25); });
  finite.reference = each([](double x) {
    if (std::isnan(x)) return 0.5;
    return std::isfinite(x) ? x : x > 0 ? 1.5 : -1.25;
  });
  finite.is_exact = true;
  finite.dtypes = Dtypes::kNumbers;
  return {relu,
          leaky,
          elu,
          erf,
          tanh,
          clamp,
          finite,
          with_special_values(finite),
          with_special_values(relu),
          with_special_values(leaky),
          with_special_values(elu),
          with_special_values(clamp)};
}

OpCase power_case(const char* what, double exponent, Draw draw) {
  OpCase result =
      function_case(Op::kPowScalar, nullptr, std::move(draw), [exponent](double x) { return std::pow(x, exponent); });
  result.what = what;
  result.run = call_of_one([exponent](const Tensor& x) { return ops::pow_scalar(x, exponent); });
  return result;
}

OpCase rescale_case() {
  OpCase result = function_case(Op::kRescale, nullptr, kReal, [](double x) { return 1.5 * x - 0.25; });
  result.run = call_of_one([](const Tensor& x) { return ops::rescale(x, 1.5, -0.25); });
  result.reference = each([](double x) { return 1.5 * x - 0.25; },
                          [](double x, double) { return kFunctionError * (1.5 * std::fabs(x) + 0.25); });
  return result;
}

}  // namespace

std::vector<OpCase> unary_cases() {
  std::vector<OpCase> cases = elementary_cases();
  for (const std::vector<OpCase>& part : {activation_cases(), float_cases(),
                                          std::vector<OpCase>{power_case("2", 2, kReal), power_case("3", 3, distinct()),
                                                              power_case("-0.3", -0.3, kPositive), rescale_case()}}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

}  // namespace halftone
