// Accuracy of activations and of slopes where a formula may lose digits: next to 0, and where exponentials underflow or
// overflow although the result does neither.
#include <cstdio>

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"
#include "ulps.h"

namespace halftone {
namespace {

using Wide = long double;

Wide sigmoid_of(Wide x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Wide softplus_of(Wide x) { return std::fmax(x, Wide{0}) + std::log1p(std::exp(-std::fabs(x))); }
Wide distribution_of(Wide x) { return 0.5L * std::erfc(-x / std::sqrt(2.0L)); }
Wide silu_slope_of(Wide x) { return sigmoid_of(x) * (1 + x * sigmoid_of(-x)); }
Wide gelu_slope_of(Wide x) {
  const Wide density = std::exp(-0.5L * x * x) / std::sqrt(2 * std::acos(Wide{-1}));
  return distribution_of(x) + x * density;
}
Wide gelu_tanh_of(Wide x) {
  const Wide u = std::sqrt(2 / std::acos(Wide{-1})) * (x + 0.044715L * x * x * x);
  return x * sigmoid_of(2 * u);
}

struct Range {
  double low, high;  // of one sign
};

// Values of even density on a logarithmic scale.
template <class T>
HostTensor values_of(const Range& range) {
  constexpr int64_t kCount = 6007;
  HostTensor x(dtype_of<T>, {kCount});
  const double first = std::log(std::fabs(range.low));
  const double step = (std::log(std::fabs(range.high)) - first) / (kCount - 1);
  for (int64_t i = 0; i < kCount; ++i) {
    x.set(i, std::copysign(std::exp(first + step * static_cast<double>(i)), range.low));
  }
  return x;
}

template <class T, class Run>
void expect_accuracy(const char* name, const Range& range, Wide (*reference)(Wide), double bound, Run&& run) {
  if (sizeof(T) == sizeof(double) && !kHasWideReference) {
    std::printf("skipped: %s in f64, since long double has no more digits than double\n", name);
    return;
  }
  const HostTensor x = values_of<T>(range);
  const HostTensor out(dtype_of<T>, {x.numel()});
  ASSERT_TRUE(run(x, out).ok());
  double worst = 0;
  double worst_x = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double distance = ulps<T>(out.get(i), reference(x.get(i)));
    if (!(distance <= worst)) worst = distance, worst_x = x.get(i);
  }
  EXPECT_LE(worst, bound) << name << " in " << name_of(dtype_of<T>) << " at " << worst_x;
}

struct ValueCase {
  const char* name;
  UnaryOp op;
  Wide (*reference)(Wide);
  Range range;
  double ulps;
};

template <class T>
void expect_values(const ValueCase& test) {
  expect_accuracy<T>(test.name, test.range, test.reference, test.ulps,
                     [&](const HostTensor& x, const HostTensor& out) { return run_unary(test.op, x, out); });
}

// The bounds of capi/include/halftone/elementwise.h and activation.h.
const ValueCase kFloatValues[] = {
    {"silu", UnaryOp::kSilu, [](Wide x) { return x * sigmoid_of(x); }, {-111, -60}, 2.5},
    {"silu", UnaryOp::kSilu, [](Wide x) { return x * sigmoid_of(x); }, {-60, -1e-40}, 2.5},
    {"gelu by erf", UnaryOp::kGeluErf, [](Wide x) { return x * distribution_of(x); }, {-0.7, -1e-37}, 3},
    {"gelu by erf", UnaryOp::kGeluErf, [](Wide x) { return x * distribution_of(x); }, {1e-37, 0.7}, 3},
    // The error of rounding 2u grows with u, but nothing vanishes.
    {"gelu by tanh", UnaryOp::kGeluTanh, gelu_tanh_of, {-10.5, -8}, 250},
};
const ValueCase kDoubleValues[] = {
    {"sigmoid", UnaryOp::kSigmoid, sigmoid_of, {-740, -1e-300}, 2.5},
    {"sigmoid", UnaryOp::kSigmoid, sigmoid_of, {1e-300, 50}, 2.5},
    {"tanh", UnaryOp::kTanh, [](Wide x) { return std::tanh(x); }, {1e-300, 25}, 1},
    {"tanh", UnaryOp::kTanh, [](Wide x) { return std::tanh(x); }, {-1.5, -0.1}, 1},
    {"silu", UnaryOp::kSilu, [](Wide x) { return x * sigmoid_of(x); }, {-751, -650}, 3},
    {"silu", UnaryOp::kSilu, [](Wide x) { return x * sigmoid_of(x); }, {-650, -1e-300}, 2.5},
    {"silu", UnaryOp::kSilu, [](Wide x) { return x * sigmoid_of(x); }, {1e-300, 1e300}, 2.5},
    {"softplus", UnaryOp::kSoftplus, softplus_of, {-740, -1e-300}, 2},
    {"softplus", UnaryOp::kSoftplus, softplus_of, {1e-300, 1e300}, 2},
    {"gelu by tanh", UnaryOp::kGeluTanh, gelu_tanh_of, {-21.5, -20}, 5000},
};

// N12
TEST(ActivationTails, KeepTheirDigits) {
  for_each_instruction_set([] {
    for (const ValueCase& test : kFloatValues) expect_values<float>(test);
    for (const ValueCase& test : kDoubleValues) expect_values<double>(test);
  });
}

struct SlopeCase {
  const char* name;
  BinaryOp op;
  Wide (*reference)(Wide kept);
  Range range;
  double ulps;
};

template <class T>
void expect_slopes(const SlopeCase& test) {
  expect_accuracy<T>(test.name, test.range, test.reference, test.ulps,
                     [&](const HostTensor& kept, const HostTensor& out) {
                       HostTensor ones(dtype_of<T>, {kept.numel()}, {0});
                       ones.set(0, 1);
                       return run_binary(test.op, ones, kept, out);
                     });
}

const SlopeCase kFloatSlopes[] = {
    {"silu", BinaryOp::kSiluBackward, silu_slope_of, {-111, -60}, 3},
    {"silu", BinaryOp::kSiluBackward, silu_slope_of, {-60, -5}, 6},
    {"silu", BinaryOp::kSiluBackward, silu_slope_of, {1e-37, 1e30}, 4},
    {"gelu by erf", BinaryOp::kGeluErfBackward, gelu_slope_of, {-0.2, -1e-37}, 2},
    {"gelu by erf", BinaryOp::kGeluErfBackward, gelu_slope_of, {1e-37, 0.7}, 3},
    {"softplus", BinaryOp::kSoftplusBackward, sigmoid_of, {-103, -1e-37}, 2.5},
    {"tanh by its result", BinaryOp::kTanhBackward, [](Wide y) { return (1 - y) * (1 + y); }, {0.5, 0.99999994}, 2},
};
const SlopeCase kDoubleSlopes[] = {
    {"silu", BinaryOp::kSiluBackward, silu_slope_of, {-751, -650}, 3},
    {"silu", BinaryOp::kSiluBackward, silu_slope_of, {1e-300, 1e300}, 4},
    {"softplus", BinaryOp::kSoftplusBackward, sigmoid_of, {-740, -1e-300}, 2.5},
    {"tanh by its result", BinaryOp::kTanhBackward, [](Wide y) { return (1 - y) * (1 + y); }, {0.5, 1 - 0x1p-53}, 2},
};

// N12
TEST(ActivationTails, OfSlopesKeepTheirDigits) {
  for_each_instruction_set([] {
    for (const SlopeCase& test : kFloatSlopes) expect_slopes<float>(test);
    for (const SlopeCase& test : kDoubleSlopes) expect_slopes<double>(test);
  });
}

// Squares and cubes of a result leave the range of FP32 where the gradient that they lead to does not.
TEST(SlopesOfInverses, OverflowOnlyWhereTheGradientDoes) {
  HostTensor grad(DType::kF32, {2}), result(DType::kF32, {2}), out(DType::kF32, {2});
  grad.set(0, 0x1p-100), result.set(0, 0x1p80);
  grad.set(1, 0x1p100), result.set(1, -0x1p-80);
  for_each_instruction_set([&] {
    ASSERT_TRUE(run_binary(BinaryOp::kReciprocalBackward, grad, result, out).ok());
    EXPECT_EQ(out.get(0), -0x1p60);
    EXPECT_EQ(out.get(1), -0x1p-60);
    HostTensor root(DType::kF32, {2});
    root.set(0, 0x1p60), root.set(1, 0x1p-60);
    ASSERT_TRUE(run_binary(BinaryOp::kRsqrtBackward, grad, root, out).ok());
    EXPECT_EQ(out.get(0), -0x1p79);
    EXPECT_EQ(out.get(1), -0x1p-81);
  });
}

}  // namespace
}  // namespace halftone
