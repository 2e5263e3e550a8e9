// Accuracy of the elementary functions in FP32, over numbers of every exponent and sign, and their special values.
#include <algorithm>
#include <bit>
#include <functional>

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"
#include "ulps.h"

namespace halftone {
namespace {

struct AccuracyCase {
  const char* name;
  UnaryOp op;
  double (*reference)(double x);
  double ulps;  // must match what capi/include/halftone/elementwise.h promises
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return x > 700 ? x : std::log1p(std::exp(x)); }

double selu_of(double x) { return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x)); }
double mish_of(double x) { return x * std::tanh(softplus_of(x)); }

const AccuracyCase kAccuracyCases[] = {
    {"exp", UnaryOp::kExp, [](double x) { return std::exp(x); }, 1.1},
    {"log", UnaryOp::kLog, [](double x) { return std::log(x); }, 1},
    {"sqrt", UnaryOp::kSqrt, [](double x) { return std::sqrt(x); }, 0.5},
    {"rsqrt", UnaryOp::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"reciprocal", UnaryOp::kReciprocal, [](double x) { return 1 / x; }, 0.5},
    {"sin", UnaryOp::kSin, [](double x) { return std::sin(x); }, 0.6},
    {"cos", UnaryOp::kCos, [](double x) { return std::cos(x); }, 0.6},
    {"sigmoid", UnaryOp::kSigmoid, sigmoid_of, 2.5},
    {"tanh", UnaryOp::kTanh, [](double x) { return std::tanh(x); }, 2},
    {"silu", UnaryOp::kSilu, [](double x) { return x * sigmoid_of(x); }, 2.5},
    {"softplus", UnaryOp::kSoftplus, softplus_of, 2},
    {"erf", UnaryOp::kErf, [](double x) { return std::erf(x); }, 0.5001},
    {"log1p", UnaryOp::kLog1p, [](double x) { return std::log1p(x); }, 0.5001},
    {"expm1", UnaryOp::kExpm1, [](double x) { return std::expm1(x); }, 0.5001},
    {"tan", UnaryOp::kTan, [](double x) { return std::tan(x); }, 0.5001},
    {"log2", UnaryOp::kLog2, [](double x) { return std::log2(x); }, 0.5001},
    {"log10", UnaryOp::kLog10, [](double x) { return std::log10(x); }, 0.5001},
    {"selu", UnaryOp::kSelu, selu_of, 0.5001},
    {"mish", UnaryOp::kMish, mish_of, 0.5001},
    {"hardswish", UnaryOp::kHardswish, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, 2},
    {"log_sigmoid", UnaryOp::kLogSigmoid, [](double x) { return -softplus_of(-x); }, 2},
    {"trunc", UnaryOp::kTrunc, [](double x) { return std::trunc(x); }, 0},
    {"floor", UnaryOp::kFloor, [](double x) { return std::floor(x); }, 0},
    {"ceil", UnaryOp::kCeil, [](double x) { return std::ceil(x); }, 0},
    {"round", UnaryOp::kRound, [](double x) { return std::nearbyint(x); }, 0},
};

HostTensor floats_of_every_size() {
  std::vector<float> values;
  for (uint64_t word = 0; word < uint64_t{1} << 32; word += 4093) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(word)));
  }
  HostTensor x(DType::kF32, {static_cast<int64_t>(values.size())});
  std::memcpy(x.data(), values.data(), values.size() * sizeof(float));
  return x;
}

void expect_accuracy(const AccuracyCase& test, const HostTensor& in, const HostTensor& out) {
  const float* x = static_cast<const float*>(in.data());
  const float* result = static_cast<const float*>(out.data());
  double worst = 0;
  float worst_x = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    const double expected = test.reference(x[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(result[i])) << x[i];
    } else if (std::isinf(static_cast<float>(expected))) {
      ASSERT_EQ(result[i], static_cast<float>(expected)) << x[i];
    } else if (const double distance = ulps<float>(result[i], expected); distance > worst) {
      worst = distance;
      worst_x = x[i];
    }
  }
  EXPECT_LE(worst, test.ulps) << "at " << worst_x;
}

// N12
TEST(UnaryAccuracy, IsWithinTheDocumentedUlpsOverAllOfFloat) {
  const HostTensor x = floats_of_every_size();
  const HostTensor out(DType::kF32, {x.numel()});
  for_each_instruction_set([&] {
    for (const AccuracyCase& test : kAccuracyCases) {
      SCOPED_TRACE(test.name);
      ASSERT_TRUE(run_unary(test.op, x, out, 2).ok());
      expect_accuracy(test, x, out);
    }
  });
}

struct ValueCase {
  UnaryOp op;
  double x;
  double expected;
};

const ValueCase kValueCases[] = {
    {UnaryOp::kExp, -INFINITY, 0},
    {UnaryOp::kExp, INFINITY, INFINITY},
    {UnaryOp::kExp, 0, 1},
    {UnaryOp::kExp, NAN, NAN},
    {UnaryOp::kLog, 0, -INFINITY},
    {UnaryOp::kLog, -0.0, -INFINITY},
    {UnaryOp::kLog, -1, NAN},
    {UnaryOp::kLog, -INFINITY, NAN},
    {UnaryOp::kLog, INFINITY, INFINITY},
    {UnaryOp::kLog, NAN, NAN},
    {UnaryOp::kLog, 1, 0},
    {UnaryOp::kSqrt, -1, NAN},
    {UnaryOp::kSqrt, -0.0, -0.0},
    {UnaryOp::kSqrt, INFINITY, INFINITY},
    {UnaryOp::kSqrt, NAN, NAN},
    {UnaryOp::kRsqrt, 0, INFINITY},
    {UnaryOp::kRsqrt, -0.0, -INFINITY},
    {UnaryOp::kRsqrt, -1, NAN},
    {UnaryOp::kRsqrt, INFINITY, 0},
    {UnaryOp::kReciprocal, 0, INFINITY},
    {UnaryOp::kReciprocal, -0.0, -INFINITY},
    {UnaryOp::kReciprocal, -INFINITY, -0.0},
    {UnaryOp::kSin, INFINITY, NAN},
    {UnaryOp::kSin, -0.0, -0.0},
    {UnaryOp::kSin, NAN, NAN},
    {UnaryOp::kCos, -INFINITY, NAN},
    {UnaryOp::kCos, -0.0, 1},
    {UnaryOp::kSigmoid, INFINITY, 1},
    {UnaryOp::kSigmoid, -INFINITY, 0},
    {UnaryOp::kSigmoid, 0, 0.5},
    {UnaryOp::kSigmoid, NAN, NAN},
    {UnaryOp::kTanh, INFINITY, 1},
    {UnaryOp::kTanh, -INFINITY, -1},
    {UnaryOp::kTanh, -0.0, -0.0},
    {UnaryOp::kTanh, NAN, NAN},
    {UnaryOp::kSilu, INFINITY, INFINITY},
    {UnaryOp::kSilu, -INFINITY, NAN},
    {UnaryOp::kSilu, NAN, NAN},
    {UnaryOp::kSoftplus, INFINITY, INFINITY},
    {UnaryOp::kSoftplus, -INFINITY, 0},
    {UnaryOp::kSoftplus, 1000, 1000},
    {UnaryOp::kSoftplus, NAN, NAN},
    {UnaryOp::kErf, INFINITY, 1},
    {UnaryOp::kErf, -INFINITY, -1},
    {UnaryOp::kErf, -0.0, -0.0},
    {UnaryOp::kErf, NAN, NAN},
    {UnaryOp::kLog1p, -1, -INFINITY},
    {UnaryOp::kLog1p, -2, NAN},
    {UnaryOp::kLog1p, -0.0, -0.0},
    {UnaryOp::kLog1p, INFINITY, INFINITY},
    {UnaryOp::kExpm1, -INFINITY, -1},
    {UnaryOp::kExpm1, INFINITY, INFINITY},
    {UnaryOp::kExpm1, -0.0, -0.0},
    {UnaryOp::kFloor, -0.0, -0.0},
    {UnaryOp::kFloor, -0.5, -1},
    {UnaryOp::kFloor, INFINITY, INFINITY},
    {UnaryOp::kFloor, NAN, NAN},
    {UnaryOp::kCeil, -0.5, -0.0},
    {UnaryOp::kCeil, -INFINITY, -INFINITY},
    {UnaryOp::kCeil, NAN, NAN},
    {UnaryOp::kRound, 0.5, 0},
    {UnaryOp::kRound, 1.5, 2},
    {UnaryOp::kRound, -0.5, -0.0},
    {UnaryOp::kRound, -2.5, -2},
    {UnaryOp::kRound, INFINITY, INFINITY},
    {UnaryOp::kRound, NAN, NAN},
    {UnaryOp::kSign, -0.0, 0},
    {UnaryOp::kSign, NAN, 0},
    {UnaryOp::kSign, -INFINITY, -1},
    {UnaryOp::kSign, 0x1p-14, 1},
    {UnaryOp::kAbs, -0.0, 0},
    {UnaryOp::kAbs, -INFINITY, INFINITY},
    {UnaryOp::kAbs, NAN, NAN},
};

TEST(UnaryAccuracy, MeetsItsSpecialValuesInEveryDtype) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      for (const ValueCase& test : kValueCases) {
        HostTensor x(dtype, {1});
        x.set(0, test.x);
        HostTensor out(dtype, {1});
        ASSERT_TRUE(run_unary(test.op, x, out).ok());
        const std::string what = "op " + std::to_string(static_cast<int>(test.op)) + " of " + std::to_string(test.x);
        EXPECT_TRUE(is_close(out.get(0), test.expected, dtype)) << what << " is " << out.get(0);
        if (!std::isnan(test.expected)) {
          EXPECT_EQ(std::signbit(out.get(0)), std::signbit(test.expected)) << what;
        }
      }
    }
  });
}

double derivative(BinaryOp op, DType dtype, double kept) {
  HostTensor gradient(dtype, {1});
  gradient.set(0, 1);
  HostTensor x(dtype, {1});
  x.set(0, kept);
  HostTensor out(dtype, {1});
  EXPECT_TRUE(run_binary(op, gradient, x, out).ok());
  return out.get(0);
}

TEST(UnaryDerivative, HasItsLimitsAtZeroAndInfinity) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      EXPECT_EQ(derivative(BinaryOp::kAbsBackward, dtype, 0), 0);
      EXPECT_EQ(derivative(BinaryOp::kAbsBackward, dtype, NAN), 0);
      EXPECT_EQ(derivative(BinaryOp::kAbsBackward, dtype, -INFINITY), -1);
      EXPECT_EQ(derivative(BinaryOp::kSqrtBackward, dtype, 0), INFINITY);
      EXPECT_EQ(derivative(BinaryOp::kSiluBackward, dtype, INFINITY), 1);
      EXPECT_EQ(derivative(BinaryOp::kSiluBackward, dtype, -INFINITY), 0);
      EXPECT_EQ(derivative(BinaryOp::kSiluBackward, dtype, 0), 0.5);
      EXPECT_TRUE(std::isnan(derivative(BinaryOp::kSiluBackward, dtype, NAN)));
      EXPECT_EQ(derivative(BinaryOp::kSoftplusBackward, dtype, INFINITY), 1);
      EXPECT_EQ(derivative(BinaryOp::kSoftplusBackward, dtype, -INFINITY), 0);
      EXPECT_EQ(derivative(BinaryOp::kTanhBackward, dtype, 1), 0);
      EXPECT_EQ(derivative(BinaryOp::kSigmoidBackward, dtype, 1), 0);
    }
  });
}

}  // namespace
}  // namespace halftone
