// pow: C99's special cases, accuracy in FP32, and results that do not depend on neighbours in a vector.
#include <bit>
#include <functional>
#include <random>

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"
#include "ulps.h"

namespace halftone {
namespace {

const double kSpecials[] = {0.0,  -0.0,  1,   -1,   0.5,      -0.5,      2,        -2,       3,         -3,
                            1e30, -1e30, 7.5, -7.5, 0x1p-149, -0x1p-149, 16777217, INFINITY, -INFINITY, NAN};

TEST(Power, MeetsEveryCaseOfTheCLibrary) {
  constexpr int64_t n = std::size(kSpecials);
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      HostTensor base(dtype, {n, n});
      HostTensor exponent(dtype, {n, n});
      for (int64_t i = 0; i < n * n; ++i) {
        base.set(i, kSpecials[i / n]);
        exponent.set(i, kSpecials[i % n]);
      }
      HostTensor out(dtype, {n, n});
      ASSERT_TRUE(run_binary(BinaryOp::kPower, base, exponent, out).ok());
      for (int64_t i = 0; i < n * n; ++i) {
        const double exact = std::pow(base.get(i), exponent.get(i));
        const double expected = dtype == DType::kF32 ? static_cast<float>(exact) : exact;
        EXPECT_TRUE(is_close(out.get(i), expected, dtype))
            << base.get(i) << "^" << exponent.get(i) << " is " << out.get(i) << ", not " << expected;
        if (!std::isnan(expected)) {
          EXPECT_EQ(std::signbit(out.get(i)), std::signbit(expected)) << base.get(i) << "^" << exponent.get(i);
        }
      }
    }
  });
}

// Bases of every exponent; most exponents keep the result in range.
void fill_pairs(const HostTensor& base, const HostTensor& exponent) {
  std::mt19937 generator(31);
  std::uniform_real_distribution<float> uniform(-150, 150);
  float* x = static_cast<float*>(base.data());
  float* y = static_cast<float*>(exponent.data());
  for (int64_t i = 0; i < base.numel(); ++i) {
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(generator()) & 0x7fffffff);
    y[i] = uniform(generator) / std::max(1.0f, std::fabs(std::log2(x[i])));
  }
}

TEST(Power, IsWithinItsUlpsForRandomPairs) {
  const HostTensor base(DType::kF32, {300000});
  const HostTensor exponent(DType::kF32, {300000});
  fill_pairs(base, exponent);
  const HostTensor out(DType::kF32, {300000});
  for_each_instruction_set([&] {
    ASSERT_TRUE(run_binary(BinaryOp::kPower, base, exponent, out, 2).ok());
    double worst = 0;
    for (int64_t i = 0; i < base.numel(); ++i) {
      const double expected = std::pow(base.get(i), exponent.get(i));
      if (std::isnan(expected) || std::isinf(static_cast<float>(expected))) continue;
      const int step = std::max(std::ilogb(expected), -126) - 23;
      worst = std::max(worst, std::fabs(out.get(i) - expected) / std::ldexp(1.0, step));
    }
    EXPECT_LE(worst, 0.6);
  });
}

// Gradients of every size, and so factors that leave the range of FP32 where their product does not.
TEST(Power, GradientsAreWithinTheirUlpsForRandomOperands) {
  constexpr int64_t kCount = 30000;
  HostTensor in[] = {HostTensor(DType::kF32, {kCount}), HostTensor(DType::kF32, {kCount}),
                     HostTensor(DType::kF32, {kCount})};
  fill_pairs(in[1], in[2]);
  for (int64_t i = 0; i < kCount; ++i) in[0].set(i, std::ldexp(1.5, static_cast<int>(i % 80) - 40));
  const HostTensor out(DType::kF32, {kCount});
  const auto expect_within = [&](TernaryOp op, double bound, const std::function<long double(int64_t)>& expected) {
    ASSERT_TRUE(run_ternary(op, in, out, 2).ok());
    double worst = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      const long double value = expected(i);
      if (std::isnan(value) || std::isinf(static_cast<float>(value))) continue;
      worst = std::max(worst, ulps<float>(out.get(i), value));
    }
    EXPECT_LE(worst, bound) << static_cast<int>(op);
  };
  for_each_instruction_set([&] {
    const auto wide = [&](int operand, int64_t i) { return static_cast<long double>(in[operand].get(i)); };
    expect_within(TernaryOp::kPowerBaseBackward, 0.6,
                  [&](int64_t i) { return wide(0, i) * wide(2, i) * std::pow(wide(1, i), wide(2, i) - 1); });
    expect_within(TernaryOp::kPowerExponentBackward, 0.6,
                  [&](int64_t i) { return wide(0, i) * std::pow(wide(1, i), wide(2, i)) * std::log(wide(1, i)); });
  });
}

// An exponent from 2^24 on is even, and less one is itself in FP32: the slope has the sign of an odd power.
TEST(Power, OfALargeEvenExponentHasASlopeBelowZeroForBasesBelowZero) {
  HostTensor in[] = {HostTensor(DType::kF32, {1}), HostTensor(DType::kF32, {1}), HostTensor(DType::kF32, {1})};
  HostTensor out(DType::kF32, {1});
  in[0].set(0, 1), in[1].set(0, -1), in[2].set(0, 0x1p25);
  for_each_instruction_set([&] {
    ASSERT_TRUE(run_ternary(TernaryOp::kPowerBaseBackward, in, out).ok());
    EXPECT_EQ(out.get(0), -0x1p25);
  });
}

// Compares vectors whose lanes need different branches with each element on its own.
template <class Run>
void expect_no_neighbours(const HostTensor& x, Run&& run) {
  HostTensor together(DType::kF32, {x.numel()});
  run(x, together);
  for (int64_t i = 0; i < x.numel(); ++i) {
    HostTensor one(DType::kF32, {1});
    one.set(0, x.get(i));
    HostTensor alone(DType::kF32, {1});
    run(one, alone);
    ASSERT_EQ(std::bit_cast<uint64_t>(alone.get(0)), std::bit_cast<uint64_t>(together.get(i))) << x.get(i);
  }
}

TEST(Elementwise, GivesAnElementTheSameBitsBesideAnyOther) {
  HostTensor x(DType::kF32, {20000});
  x.fill_uniform(-50, 50, 32);
  for (int64_t i = 0; i < x.numel(); i += 5) x.set(i, i % 2 == 0 ? 1e9 + static_cast<double>(i) : INFINITY);
  for_each_instruction_set([&] {
    for (const UnaryOp op : {UnaryOp::kSin, UnaryOp::kCos}) {
      expect_no_neighbours(
          x, [&](const HostTensor& in, const HostTensor& out) { ASSERT_TRUE(run_unary(op, in, out).ok()); });
    }
    expect_no_neighbours(x, [&](const HostTensor& in, const HostTensor& out) {
      HostTensor power(DType::kF32, {in.numel()}, {0});
      power.set(0, -7);
      ASSERT_TRUE(run_binary(BinaryOp::kPower, in, power, out).ok());
    });
  });
}

}  // namespace
}  // namespace halftone
