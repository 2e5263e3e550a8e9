// GELU: the formulas against published values, and the FP32 kernels within the bounds that simd/gelu.h states.
#include "backend/formula/gelu.h"

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// P(1) to twenty digits: tables of the normal distribution (DLMF 7.22, 26.2.17 in Abramowitz and Stegun).
TEST(GeluFormula, GivesTheTabulatedDistribution) {
  EXPECT_NEAR(gelu_erf(1.0), 0.84134474606854294859, 1e-15);
  EXPECT_NEAR(gelu_erf(-1.0), -0.15865525393145705141, 1e-15);
  EXPECT_NEAR(gelu_erf(-8.0) / (-8.0 * 6.2209605742717841e-16), 1, 1e-13);
}

// 0.5 x (1 + tanh u), as in the paper.
TEST(GeluFormula, TanhFormEqualsThePapers) {
  for (double x = -6; x <= 6; x += 0.37) {
    const double u = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    EXPECT_NEAR(gelu_tanh(x), 0.5 * x * (1 + std::tanh(u)), 1e-14);
  }
}

TEST(GeluFormula, DerivativesEqualFiniteDifferences) {
  constexpr double h = 1e-5;
  for (double x = -7; x <= 7; x += 0.23) {
    EXPECT_NEAR(gelu_erf_derivative(x), (gelu_erf(x + h) - gelu_erf(x - h)) / (2 * h), 1e-9) << x;
    EXPECT_NEAR(gelu_tanh_derivative(x), (gelu_tanh(x + h) - gelu_tanh(x - h)) / (2 * h), 1e-9) << x;
  }
}

struct Bound {
  double absolute;
  double per_x;
};

// Every 2049th FP32 pattern below 2^5 in magnitude, of both signs.
HostTensor inputs() {
  std::vector<float> values;
  for (uint32_t word = 0; word < 0x42000000; word += 2048 + 1) {
    values.push_back(std::bit_cast<float>(word));
    values.push_back(-std::bit_cast<float>(word));
  }
  HostTensor x(DType::kF32, {static_cast<int64_t>(values.size())});
  std::memcpy(x.data(), values.data(), values.size() * sizeof(float));
  return x;
}

template <class Reference>
void expect_within(const HostTensor& x, const HostTensor& out, Bound bound, Reference&& reference) {
  double worst = 0;
  double worst_x = 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double limit = bound.absolute + bound.per_x * std::fabs(x.get(i)) + 0x1p-149;
    const double error = std::fabs(out.get(i) - reference(x.get(i))) / limit;
    if (!(error <= worst)) {
      worst = error;
      worst_x = x.get(i);
    }
  }
  EXPECT_LE(worst, 1) << "of the stated bound, at " << worst_x;
}

TEST(GeluKernels, StayWithinTheirStatedErrors) {
  const HostTensor x = inputs();
  HostTensor ones(DType::kF32, x.view().shape);
  for (int64_t i = 0; i < x.numel(); ++i) ones.set(i, 1);
  HostTensor out(DType::kF32, x.view().shape);
  for_each_instruction_set([&] {
    ASSERT_TRUE(run_unary(UnaryOp::kGeluErf, x, out).ok());
    expect_within(x, out, {0, 0x1p-22}, gelu_erf);
    ASSERT_TRUE(run_unary(UnaryOp::kGeluTanh, x, out).ok());
    expect_within(x, out, {0, 0x1p-22}, gelu_tanh);
    ASSERT_TRUE(run_binary(BinaryOp::kGeluErfBackward, ones, x, out).ok());
    expect_within(x, out, {0x1p-22, 0}, gelu_erf_derivative);
    ASSERT_TRUE(run_binary(BinaryOp::kGeluTanhBackward, ones, x, out).ok());
    expect_within(x, out, {0x1p-22, 0}, gelu_tanh_derivative);
  });
}

// Every BF16, in memory of this stride.
HostTensor all_bfloat16(int64_t stride) {
  HostTensor x(DType::kBF16, {1 << 16}, {stride});
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.set(i, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(i) << 16)));
  }
  return x;
}

// `bound` is that of the error before the result is rounded.
template <class Reference>
void expect_rounded_within(const HostTensor& x, const HostTensor& out, Bound bound, Reference&& reference) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double exact = reference(x.get(i));
    if (std::isnan(exact) || std::isinf(exact)) {
      ASSERT_TRUE(std::isnan(exact) ? std::isnan(out.get(i)) : out.get(i) == exact) << x.get(i);
      continue;
    }
    const double error = bound.absolute + bound.per_x * std::fmin(std::fabs(x.get(i)), std::fabs(exact) * 0x1p4);
    const double limit = error + half_step(DType::kBF16).relative * (std::fabs(exact) + error) + 0x1p-134;
    ASSERT_LE(std::fabs(out.get(i) - exact), limit) << x.get(i) << " gives " << out.get(i) << ", not " << exact;
  }
}

// The tanh form has formulas of its own for BF16. In the lower tail the error is bounded by the result's size.
TEST(GeluKernels, StayWithinTheirStatedErrorsForEveryBFloat16) {
  const HostTensor x = all_bfloat16(1);
  HostTensor ones(DType::kBF16, x.view().shape), out(DType::kBF16, x.view().shape);
  for (int64_t i = 0; i < x.numel(); ++i) ones.set(i, 1);
  for_each_instruction_set([&] {
    ASSERT_TRUE(run_unary(UnaryOp::kGeluTanh, x, out).ok());
    expect_rounded_within(x, out, {0, 0x1p-20}, gelu_tanh);
    ASSERT_TRUE(run_binary(BinaryOp::kGeluTanhBackward, ones, x, out).ok());
    expect_rounded_within(x, out, {0x1p-20, 0}, gelu_tanh_derivative);
  });
}

// Dense BF16 goes from vectors to vectors, other layouts through tiles of FP32.
TEST(GeluKernels, GiveTheSameBitsForBFloat16OfAnyLayout) {
  const HostTensor x = all_bfloat16(1), apart = all_bfloat16(2);
  HostTensor gradient(DType::kBF16, x.view().shape);
  for (int64_t i = 0; i < x.numel(); ++i) gradient.set(i, 1 + static_cast<double>(i % 128) / 128);
  for_each_instruction_set([&] {
    HostTensor dense(DType::kBF16, x.view().shape), tiled(DType::kBF16, x.view().shape);
    ASSERT_TRUE(run_unary(UnaryOp::kGeluTanh, x, dense, 2).ok() && run_unary(UnaryOp::kGeluTanh, apart, tiled).ok());
    EXPECT_TRUE(dense.bytes() == tiled.bytes());
    ASSERT_TRUE(run_binary(BinaryOp::kGeluTanhBackward, gradient, x, dense, 2).ok());
    ASSERT_TRUE(run_binary(BinaryOp::kGeluTanhBackward, gradient, apart, tiled).ok());
    EXPECT_TRUE(dense.bytes() == tiled.bytes());
  });
}

void expect_special_cases(DType dtype) {
  const double values[] = {NAN, INFINITY, -INFINITY, 0.0, 3e4, -3e4};
  const double forward[] = {NAN, INFINITY, NAN, 0, 3e4, 0};
  const double backward[] = {NAN, 1, 0, 0.5, 1, 0};
  HostTensor x(dtype, {6});
  HostTensor ones(dtype, {6});
  for (int64_t i = 0; i < 6; ++i) {
    x.set(i, values[i]);
    ones.set(i, 1);
  }
  HostTensor out(dtype, {6});
  for (const UnaryOp op : {UnaryOp::kGeluErf, UnaryOp::kGeluTanh}) {
    ASSERT_TRUE(run_unary(op, x, out).ok());
    expect_elements(out, [&](int64_t i) { return forward[i]; });
  }
  for (const BinaryOp op : {BinaryOp::kGeluErfBackward, BinaryOp::kGeluTanhBackward}) {
    ASSERT_TRUE(run_binary(op, ones, x, out).ok());
    expect_elements(out, [&](int64_t i) { return backward[i]; });
  }
}

TEST(GeluKernels, TreatNanInfinityAndLargeValuesAsStated) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      SCOPED_TRACE(name_of(dtype));
      expect_special_cases(dtype);
    }
  });
}

}  // namespace
}  // namespace halftone
