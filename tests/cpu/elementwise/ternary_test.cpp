#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

struct TernaryCase {
  const char* name;
  TernaryOp op;
  double (*reference)(double a, double b, double c);
};

const TernaryCase kTernaryCases[] = {
    {"where", TernaryOp::kWhere, [](double a, double b, double c) { return a != 0 ? b : c; }},
    {"maximum_backward", TernaryOp::kMaximumBackward,
     [](double a, double b, double c) { return b < c    ? 0
                                               : b == c ? a / 2
                                                        : a; }},
    {"power_base_backward", TernaryOp::kPowerBaseBackward,
     [](double a, double b, double c) { return c == 0 ? 0 : a * c * std::pow(b, c - 1); }},
    {"power_exponent_backward", TernaryOp::kPowerExponentBackward,
     [](double a, double b, double c) { return b == 0 && c >= 0 ? 0 : a * std::pow(b, c) * std::log(b); }},
};
static_assert(std::size(kTernaryCases) == static_cast<size_t>(TernaryOp::kEnd));

template <class Body>
void for_each_case(Body&& body) {
  for_each_instruction_set([&] {
    for (const TernaryCase& test : kTernaryCases) {
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
        SCOPED_TRACE(std::string(test.name) + " " + name_of(dtype));
        body(test, dtype);
      }
    }
  });
}

// Halves and whole numbers, so ties and zeros are frequent.
HostTensor operand(DType dtype, const Shape& shape, const Shape& strides, int step) {
  HostTensor tensor(dtype, shape, strides);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, static_cast<double>(i * step % 7) / 2);
  return tensor;
}

void expect_reference(const TernaryCase& test, const HostTensor (&in)[3], const HostTensor& out, int threads = 1) {
  ASSERT_TRUE(run_ternary(test.op, in, out, threads).ok());
  expect_elements(out, [&](int64_t i) { return test.reference(in[0].get(i), in[1].get(i), in[2].get(i)); });
}

TEST(Ternary, EqualsTheReferenceAtEverySize) {
  for_each_case([](const TernaryCase& test, DType dtype) {
    for (const int64_t size : kCaseSizes) {
      const HostTensor in[] = {operand(dtype, {size}, {1}, 1), operand(dtype, {size}, {1}, 2),
                               operand(dtype, {size}, {1}, 4)};
      expect_reference(test, in, HostTensor(dtype, {size}));
    }
  });
}

TEST(Ternary, EqualsTheReferenceAtAnyStrides) {
  for_each_case([](const TernaryCase& test, DType dtype) {
    for (const Shape& strides : kCaseStrides) {
      const HostTensor in[] = {operand(dtype, kCaseShape, strides, 1), operand(dtype, kCaseShape, kDense, 3),
                               operand(dtype, kCaseShape, {0, 1, 7}, 5)};
      const HostTensor turned[] = {in[1], in[2], in[0]};
      expect_reference(test, in, HostTensor(dtype, kCaseShape));
      expect_reference(test, turned, HostTensor(dtype, kCaseShape, kOutputStrides[2]));
    }
  });
}

TEST(Ternary, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Shape shape = {7, 30011};
  for (const TernaryCase& test : kTernaryCases) {
    const HostTensor in[] = {operand(DType::kBF16, shape, {30011, 1}, 1), operand(DType::kF32, shape, {0, 1}, 2),
                             operand(DType::kF32, shape, {1, 0}, 3)};
    HostTensor one(DType::kF32, shape);
    expect_reference(test, in, one);
    for (const int threads : {2, 7}) {
      HostTensor out(DType::kF32, shape);
      ASSERT_TRUE(run_ternary(test.op, in, out, threads).ok());
      EXPECT_EQ(out.bytes(), one.bytes());
    }
  }
}

TEST(MaximumBackward, PassesBothSidesWhereEitherIsNan) {
  for_each_instruction_set([] {
    const double sides[][2] = {{NAN, 1}, {1, NAN}, {NAN, NAN}};
    for (const auto& [x, y] : sides) {
      HostTensor gradient(DType::kF32, {1});
      HostTensor a(DType::kF32, {1});
      HostTensor b(DType::kF32, {1});
      gradient.set(0, 3);
      a.set(0, x);
      b.set(0, y);
      const HostTensor in[] = {gradient, a, b};
      HostTensor out(DType::kF32, {1});
      ASSERT_TRUE(run_ternary(TernaryOp::kMaximumBackward, in, out).ok());
      EXPECT_EQ(out.get(0), 3);
    }
  });
}

TEST(Ternary, RefusesIntegersWhereThereIsNoMeaning) {
  const HostTensor in[] = {HostTensor(DType::kI32, {4}), HostTensor(DType::kI32, {4}), HostTensor(DType::kI32, {4})};
  EXPECT_EQ(run_ternary(TernaryOp::kPowerBaseBackward, in, HostTensor(DType::kI32, {4})).code, Code::kUnsupported);
}

// The operands are so small that every sum is exact in 16 bits.
TEST(Addcmul, EqualsTheReferenceAtAnyStrides) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI32, DType::kI64}) {
      SCOPED_TRACE(name_of(dtype));
      const int step = is_float(dtype) ? 1 : 2;  // halves or whole numbers
      for (const Shape& strides : kCaseStrides) {
        const HostTensor in[] = {operand(dtype, kCaseShape, strides, 2 * step),
                                 operand(dtype, kCaseShape, kDense, 4 * step),
                                 operand(dtype, kCaseShape, {0, 1, 7}, 6 * step)};
        const HostTensor out(dtype, kCaseShape, kOutputStrides[2]);
        ASSERT_TRUE(run_addcmul(-2, in, out).ok());
        expect_elements(out, [&](int64_t i) { return in[0].get(i) - 2 * in[1].get(i) * in[2].get(i); });
      }
    }
  });
}

// (3 * 2^127) * 2^-127 overflows in FP32, 3 * (2^127 * 2^-127) would not.
TEST(Addcmul, MultipliesFromLeftToRight) {
  for_each_instruction_set([] {
    for (const int64_t size : kCaseSizes) {
      HostTensor in[] = {HostTensor(DType::kF32, {size}), HostTensor(DType::kF32, {size}),
                         HostTensor(DType::kF32, {size})};
      for (int64_t i = 0; i < size; ++i) {
        in[0].set(i, 1);
        in[1].set(i, i % 2 == 0 ? 0x1p127 : 0x1p-127);
        in[2].set(i, i % 2 == 0 ? 0x1p-127 : 0x1p127);
      }
      const HostTensor out(DType::kF32, {size});
      ASSERT_TRUE(run_addcmul(3, in, out).ok());
      expect_elements(out, [&](int64_t i) { return i % 2 == 0 ? INFINITY : 4.0; });
    }
  });
}

TEST(Addcmul, WrapsIntegers) {
  for_each_instruction_set([] {
    HostTensor in[] = {HostTensor(DType::kI8, {1}), HostTensor(DType::kI8, {1}), HostTensor(DType::kI8, {1})};
    in[0].set(0, 100);
    in[1].set(0, 10);
    in[2].set(0, 5);
    const HostTensor out(DType::kI8, {1});
    ASSERT_TRUE(run_addcmul(3, in, out).ok());
    EXPECT_EQ(out.get(0), -6);  // 250 - 256
  });
}

TEST(Addcmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Shape shape = {7, 30011};
  const HostTensor in[] = {operand(DType::kBF16, shape, {30011, 1}, 1), operand(DType::kF32, shape, {0, 1}, 2),
                           operand(DType::kF32, shape, {1, 0}, 3)};
  const HostTensor one(DType::kF32, shape);
  ASSERT_TRUE(run_addcmul(0.3, in, one).ok());
  for (const int threads : {2, 7}) {
    const HostTensor out(DType::kF32, shape);
    ASSERT_TRUE(run_addcmul(0.3, in, out, threads).ok());
    EXPECT_EQ(out.bytes(), one.bytes());
  }
}

const Bounds kBoundsCases[] = {{-1, 2}, {-INFINITY, 0.5}, {0.5, INFINITY}, {3, 1}, {0, 0}};

double clamped(double x, const Bounds& bounds) {
  const double raised = x < bounds.low ? bounds.low : x;
  return raised > bounds.high ? bounds.high : raised;
}

TEST(Clamp, EqualsTheReferenceInEveryDtypeAndAtAnyStrides) {
  for_each_instruction_set([] {
    for (const DType dtype : kFloatDtypes) {
      for (const Bounds& bounds : kBoundsCases) {
        for (const Shape& strides : kCaseStrides) {
          HostTensor x(dtype, kCaseShape, strides);
          x.fill_uniform(-4, 4, 41);
          HostTensor out(dtype, kCaseShape);
          ASSERT_TRUE(run_clamp(bounds, x, out).ok());
          expect_elements(out, [&](int64_t i) { return clamped(x.get(i), bounds); });
        }
      }
    }
  });
}

TEST(Clamp, RefusesIntegers) {
  const HostTensor x(DType::kI32, {4});
  EXPECT_EQ(run_clamp({0, 1}, x, HostTensor(DType::kI32, {4})).code, Code::kUnsupported);
  EXPECT_EQ(run_clamp_backward({0, 1}, x, x, HostTensor(DType::kI32, {4})).code, Code::kUnsupported);
}

}  // namespace
}  // namespace halftone
