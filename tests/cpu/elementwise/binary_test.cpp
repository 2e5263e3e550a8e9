#include <numbers>

#include "backend/formula/gelu.h"
#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

struct BinaryCase {
  const char* name;
  BinaryOp op;
  double (*reference)(double a, double b);
};

double silu_slope(double x) {
  const double s = 1 / (1 + std::exp(-x));
  return s * (1 + x * (1 - s));
}

const BinaryCase kBinaryCases[] = {
    {"add", BinaryOp::kAdd, [](double a, double b) { return a + b; }},
    {"subtract", BinaryOp::kSubtract, [](double a, double b) { return a - b; }},
    {"multiply", BinaryOp::kMultiply, [](double a, double b) { return a * b; }},
    {"maximum", BinaryOp::kMaximum, [](double a, double b) { return a > b ? a : b; }},
    {"minimum", BinaryOp::kMinimum, [](double a, double b) { return a < b ? a : b; }},
    {"power", BinaryOp::kPower, [](double a, double b) { return std::pow(a, b); }},
    {"divide", BinaryOp::kDivide, [](double a, double b) { return a / b; }},
    {"relu_backward", BinaryOp::kReluBackward, [](double a, double b) { return b > 0 ? a : 0; }},
    {"gelu_erf_backward", BinaryOp::kGeluErfBackward, [](double a, double b) { return a * gelu_erf_derivative(b); }},
    {"gelu_tanh_backward", BinaryOp::kGeluTanhBackward, [](double a, double b) { return a * gelu_tanh_derivative(b); }},
    {"abs_backward", BinaryOp::kAbsBackward, [](double a, double b) { return b > 0   ? a
                                                                             : b < 0 ? -a
                                                                                     : 0; }},
    {"sqrt_backward", BinaryOp::kSqrtBackward, [](double a, double b) { return a / (2 * b); }},
    {"rsqrt_backward", BinaryOp::kRsqrtBackward, [](double a, double b) { return -a * b * b * b / 2; }},
    {"reciprocal_backward", BinaryOp::kReciprocalBackward, [](double a, double b) { return -a * b * b; }},
    {"sin_backward", BinaryOp::kSinBackward, [](double a, double b) { return a * std::cos(b); }},
    {"cos_backward", BinaryOp::kCosBackward, [](double a, double b) { return -a * std::sin(b); }},
    {"sigmoid_backward", BinaryOp::kSigmoidBackward, [](double a, double b) { return a * b * (1 - b); }},
    {"tanh_backward", BinaryOp::kTanhBackward, [](double a, double b) { return a * (1 - b * b); }},
    {"silu_backward", BinaryOp::kSiluBackward, [](double a, double b) { return a * silu_slope(b); }},
    {"softplus_backward", BinaryOp::kSoftplusBackward, [](double a, double b) { return a / (1 + std::exp(-b)); }},
    {"erf_backward", BinaryOp::kErfBackward,
     [](double a, double b) { return a * 2 * std::numbers::inv_sqrtpi * std::exp(-b * b); }},
    {"expm1_backward", BinaryOp::kExpm1Backward, [](double a, double b) { return a * (b + 1); }},
};
static_assert(std::size(kBinaryCases) == static_cast<size_t>(BinaryOp::kEnd));

template <class Body>
void for_each_case(Body&& body) {
  for_each_instruction_set([&] {
    for (const BinaryCase& test : kBinaryCases) {
      for (const DType dtype : kFloatDtypes) {
        SCOPED_TRACE(std::string(test.name) + " " + name_of(dtype));
        body(test, dtype);
      }
    }
  });
}

// The values are not close to 0, so quotients stay in every format's range.
HostTensor operand(DType dtype, const Shape& shape, const Shape& strides, uint32_t seed) {
  HostTensor tensor(dtype, shape, strides);
  tensor.fill_uniform(0.25, 4, seed);
  for (int64_t i = 0; i < tensor.numel(); i += 3) tensor.set(i, -std::fabs(tensor.get(i)));
  return tensor;
}

void expect_reference(const BinaryCase& test, const HostTensor& a, const HostTensor& b, const HostTensor& out,
                      int threads = 1) {
  ASSERT_TRUE(run_binary(test.op, a, b, out, threads).ok());
  expect_elements(out, [&](int64_t i) { return test.reference(a.get(i), b.get(i)); });
}

TEST(Binary, EqualsTheReferenceAtEverySize) {
  for_each_case([](const BinaryCase& test, DType dtype) {
    for (const int64_t size : kCaseSizes) {
      const HostTensor a = operand(dtype, {size}, {1}, 1);
      const HostTensor b = operand(dtype, {size}, {1}, 2);
      expect_reference(test, a, b, HostTensor(dtype, {size}));
    }
  });
}

TEST(Binary, EqualsTheReferenceAtAnyStrides) {
  for_each_case([](const BinaryCase& test, DType dtype) {
    for (const Shape& strides : kCaseStrides) {
      const HostTensor a = operand(dtype, kCaseShape, strides, 3);
      const HostTensor b = operand(dtype, kCaseShape, kDense, 4);
      expect_reference(test, a, b, HostTensor(dtype, kCaseShape));
      expect_reference(test, b, a, HostTensor(dtype, kCaseShape));
    }
    for (const Shape& strides : kOutputStrides) {
      const HostTensor a = operand(dtype, kCaseShape, kDense, 5);
      const HostTensor b = operand(dtype, kCaseShape, {0, 1, 7}, 6);
      expect_reference(test, a, b, HostTensor(dtype, kCaseShape, strides));
    }
  });
}

TEST(Binary, WritesOverEitherInput) {
  for_each_case([](const BinaryCase& test, DType dtype) {
    const HostTensor a = operand(dtype, {1337}, {1}, 9);
    const HostTensor b = operand(dtype, {1337}, {1}, 10);
    HostTensor over_a = a;
    ASSERT_TRUE(run_binary(test.op, over_a, b, over_a).ok());
    expect_elements(over_a, [&](int64_t i) { return test.reference(a.get(i), b.get(i)); });
    HostTensor over_b = b;
    ASSERT_TRUE(run_binary(test.op, a, over_b, over_b).ok());
    expect_elements(over_b, [&](int64_t i) { return test.reference(a.get(i), b.get(i)); });
  });
}

TEST(Binary, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Shape shape = {7, 30011};
  for (const BinaryCase& test : kBinaryCases) {
    SCOPED_TRACE(test.name);
    const HostTensor a = operand(DType::kBF16, shape, {30011, 1}, 11);
    const HostTensor b = operand(DType::kF32, shape, {0, 1}, 12);
    HostTensor one(DType::kF32, shape);
    expect_reference(test, a, b, one);
    for (const int threads : {2, 7}) {
      HostTensor out(DType::kF32, shape);
      ASSERT_TRUE(run_binary(test.op, a, b, out, threads).ok());
      EXPECT_EQ(out.bytes(), one.bytes());
    }
  }
}

TEST(Binary, RoundsBasicArithmeticAsIeeeDoes) {
  for_each_instruction_set([] {
    const HostTensor a = operand(DType::kF32, {5000}, {1}, 13);
    const HostTensor b = operand(DType::kF32, {5000}, {1}, 14);
    HostTensor out(DType::kF32, {5000});
    ASSERT_TRUE(run_binary(BinaryOp::kDivide, a, b, out).ok());
    for (int64_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(out.get(i), static_cast<float>(a.get(i)) / static_cast<float>(b.get(i)));
    }
  });
}

TEST(ReluBackward, StopsAtZeroAndPassesWhereTheInputIsNan) {
  for_each_instruction_set([] {
    HostTensor gradient(DType::kF32, {5});
    for (int64_t i = 0; i < 5; ++i) gradient.set(i, 3);
    HostTensor x(DType::kF32, {5});
    const double values[] = {0.0, -0.0, NAN, -INFINITY, 0x1p-149};
    for (int64_t i = 0; i < 5; ++i) x.set(i, values[i]);
    HostTensor out(DType::kF32, {5});
    ASSERT_TRUE(run_binary(BinaryOp::kReluBackward, gradient, x, out).ok());
    const double expected[] = {0, 0, 3, 0, 3};
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(out.get(i), expected[i]) << i;
  });
}

}  // namespace
}  // namespace halftone
