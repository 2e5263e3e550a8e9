// Elementwise losses and their slopes, compared with formulas in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr DType kDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};
constexpr double kScale = 0.25;
constexpr double kBeta = 0.75;

struct Formula {
  LossOp op;
  std::function<double(double x, double t)> value, by_input, by_target;
};

double sign(double d) { return d > 0 ? 1 : d < 0 ? -1 : 0; }
double smooth(double d) { return std::fabs(d) < kBeta ? d / kBeta : sign(d); }

const Formula kFormulas[] = {
    {LossOp::kSquared, [](double x, double t) { return (x - t) * (x - t); },
     [](double x, double t) { return 2 * (x - t); }, [](double x, double t) { return 2 * (t - x); }},
    {LossOp::kAbsolute, [](double x, double t) { return std::fabs(x - t); },
     [](double x, double t) { return sign(x - t); }, [](double x, double t) { return sign(t - x); }},
    {LossOp::kSmoothAbsolute,
     [](double x, double t) {
       const double d = std::fabs(x - t);
       return d < kBeta ? d * d / (2 * kBeta) : d - kBeta / 2;
     },
     [](double x, double t) { return smooth(x - t); }, [](double x, double t) { return smooth(t - x); }},
    {LossOp::kKlDivergence, [](double x, double t) { return (t == 0 ? 0 : t * std::log(t)) - t * x; },
     [](double, double t) { return -t; }, [](double x, double t) { return std::log(t) + 1 - x; }},
    {LossOp::kKlDivergenceOfLogs, [](double x, double t) { return std::exp(t) * (t - x); },
     [](double, double t) { return -std::exp(t); }, [](double x, double t) { return std::exp(t) * (t - x + 1); }},
};

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
  void slope(LossOp op, LossOperand operand, int threads = 2) {
    run(threads, [&](Stream& stream) {
      return cpu::kLossKernels.loss_backward(stream, op, kBeta, operand, grad.view(), kScale, x.view(), t.view(),
                                             out.view());
    });
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

// Differences of inputs of about 4 are rounded once or twice more than tolerance() assumes.
void expect(const Case& c, const std::function<double(int64_t)>& expected) {
  for (int64_t i = 0; i < c.out.numel(); ++i) {
    ASSERT_TRUE(is_close(c.out.get(i), expected(i), c.out.view().dtype, 4))
        << i << ": " << c.out.get(i) << " for " << expected(i) << " of " << c.x.get(i) << ", " << c.t.get(i);
  }
  EXPECT_TRUE(c.out.guards_hold());
}

void check_all(Case& c) {
  const auto at = [&](const auto& f) { return [&c, f](int64_t i) { return f(c.x.get(i), c.t.get(i)); }; };
  const auto scaled = [&](const auto& f) {
    return [&c, f](int64_t i) { return c.grad.get(i) * kScale * f(c.x.get(i), c.t.get(i)); };
  };
  for (const Formula& formula : kFormulas) {
    SCOPED_TRACE(static_cast<int>(formula.op));
    c.value(formula.op);
    expect(c, at(formula.value));
    c.slope(formula.op, LossOperand::kInput);
    expect(c, scaled(formula.by_input));
    c.slope(formula.op, LossOperand::kTarget);
    expect(c, scaled(formula.by_target));
  }
  const auto softplus = [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); };
  c.logistic();
  expect(c, [&](int64_t i) {
    return c.p.get(i) * c.t.get(i) * softplus(-c.x.get(i)) + (1 - c.t.get(i)) * softplus(c.x.get(i));
  });
  c.logistic_slope(LossOperand::kInput);
  expect(c, [&](int64_t i) {
    const double sigmoid = 1 / (1 + std::exp(-c.x.get(i)));
    return c.grad.get(i) * kScale * ((1 - c.t.get(i)) * sigmoid - c.p.get(i) * c.t.get(i) * (1 - sigmoid));
  });
  c.logistic_slope(LossOperand::kTarget);
  expect(c, [&](int64_t i) {
    return c.grad.get(i) * kScale * (c.p.get(i) * softplus(-c.x.get(i)) - softplus(c.x.get(i)));
  });
}

TEST(LossOfElements, FollowsTheFormulasForEverySizeAndDtype) {
  for_each_instruction_set([] {
    for (const DType dtype : kDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const int64_t size : kCaseSizes) {
        Case c(dtype, {size}, {1});
        check_all(c);
      }
      Case large(dtype, {40001}, {1});
      check_all(large);
    }
  });
}

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
  for (const Formula& formula : kFormulas) {
    one.value(formula.op, 1);
    seven.value(formula.op, 7);
    EXPECT_EQ(one.out.bytes(), seven.out.bytes());
  }
}

}  // namespace
}  // namespace halftone
