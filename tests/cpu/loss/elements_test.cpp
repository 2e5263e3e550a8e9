// Elementwise losses where logits are extreme, and on several threads.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr double kScale = 0.25;
constexpr double kBeta = 0.75;

// All inputs and outputs of a loss.
struct Case {
  Case(DType dtype, const Shape& shape, const Shape& strides)
      : x(dtype, shape, strides), t(dtype, shape, strides), grad(dtype, shape), p(dtype, shape), out(dtype, shape) {
    x.fill_uniform(-3, 3, 3);
    t.fill_uniform(0.0625, 1, 4);
    grad.fill_uniform(-1, 1, 5);
    p.fill_uniform(0.5, 2, 6);
  }

  template <class Call>
  void run(int threads, Call&& call) {
    ThreadPool pool(threads);
    cpu::CpuStream stream(pool);
    ASSERT_TRUE(call(stream).ok());
  }
  void value(LossOp op, int threads = 2) {
    run(threads,
        [&](Stream& stream) { return cpu::kLossKernels.loss(stream, op, kBeta, x.view(), t.view(), out.view()); });
  }
  void logistic(int threads = 2) {
    run(threads,
        [&](Stream& stream) { return cpu::kLossKernels.logistic(stream, x.view(), t.view(), p.view(), out.view()); });
  }
  void logistic_slope(LossOperand operand, int threads = 2) {
    run(threads, [&](Stream& stream) {
      return cpu::kLossKernels.logistic_backward(stream, operand, grad.view(), kScale, x.view(), t.view(), p.view(),
                                                 out.view());
    });
  }

  HostTensor x, t, grad, p, out;
};

TEST(LogisticLoss, NeitherOverflowsNorCancels) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      Case c(dtype, {6}, {1});
      const double x[] = {1e30, -1e30, 1e30, -1e30, 30, -30};
      const double t[] = {1, 0, 0, 1, 1, 0};
      const double tiny = std::exp(-30.0);
      const double values[] = {0, 0, 1e30, 1e30, tiny, tiny};
      const double slopes[] = {0, 0, kScale, -kScale, -tiny * kScale, tiny * kScale};
      for (int64_t i = 0; i < 6; ++i) c.x.set(i, x[i]), c.t.set(i, t[i]), c.p.set(i, 1), c.grad.set(i, 1);
      c.logistic();
      for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(c.out.get(i), values[i], 1e-6 * values[i]) << i;
      c.logistic_slope(LossOperand::kInput);
      for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(c.out.get(i), slopes[i], 1e-6 * std::fabs(slopes[i])) << i;
    }
  });
}

// p log(1 + e^-x) - log(1 + e^x) is -x for p = 1.
TEST(LogisticLoss, SlopesOfTargetsKeepTheDigitsOfSmallLogits) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      Case c(dtype, {6}, {1});
      const double x[] = {1e-30, -1e-30, 3e-8, -1e-3, 0.75, -20};
      for (int64_t i = 0; i < 6; ++i) c.x.set(i, x[i]), c.t.set(i, 0.5), c.p.set(i, 1), c.grad.set(i, 1);
      c.logistic_slope(LossOperand::kTarget);
      for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(c.out.get(i), -kScale * c.x.get(i)) << i;
      // Near 1 the common part of both logarithms still does not take the digits of the difference.
      const double p = 1 + 0x1p-20;
      for (int64_t i = 0; i < 6; ++i) c.p.set(i, p);
      c.logistic_slope(LossOperand::kTarget);
      for (int64_t i = 0; i < 6; ++i) {
        const double logit = c.x.get(i);
        const double part = (p - 1) * std::log1p(std::exp(-std::fabs(logit)));
        const double expected = kScale * (part - (logit < 0 ? p : 1) * logit);
        EXPECT_NEAR(c.out.get(i), expected, 8 * half_step(dtype).relative * kScale * (part + std::fabs(logit))) << i;
      }
    }
  });
}

TEST(LossOfElements, IsTheSameOnAnyNumberOfThreads) {
  Case one(DType::kF32, {100003}, {1}), seven(DType::kF32, {100003}, {1});
  for (const LossOp op : {LossOp::kSquared, LossOp::kAbsolute, LossOp::kSmoothAbsolute, LossOp::kKlDivergence,
                          LossOp::kKlDivergenceOfLogs, LossOp::kHuber, LossOp::kBinaryCrossEntropy}) {
    one.value(op, 1);
    seven.value(op, 7);
    EXPECT_EQ(one.out.bytes(), seven.out.bytes());
  }
}

}  // namespace
}  // namespace halftone
