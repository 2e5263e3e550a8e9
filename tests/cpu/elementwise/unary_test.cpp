#include "backend/formula/gelu.h"
#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

struct UnaryCase {
  const char* name;
  UnaryOp op;
  double (*reference)(double x);
  // Inputs for which every format can hold the result.
  double low = -6;
  double high = 6;
};

const UnaryCase kUnaryCases[] = {
    {"negate", UnaryOp::kNegate, [](double x) { return -x; }},
    {"abs", UnaryOp::kAbs, [](double x) { return std::fabs(x); }},
    {"sign", UnaryOp::kSign, [](double x) { return x > 0   ? 1
                                                   : x < 0 ? -1.0
                                                           : 0; }},
    {"relu", UnaryOp::kRelu, [](double x) { return x > 0 ? x : 0; }},
    {"gelu_erf", UnaryOp::kGeluErf, [](double x) { return gelu_erf(x); }},
    {"gelu_tanh", UnaryOp::kGeluTanh, [](double x) { return gelu_tanh(x); }},
    {"exp", UnaryOp::kExp, [](double x) { return std::exp(x); }, -6, 5},
    {"log", UnaryOp::kLog, [](double x) { return std::log(x); }, 0.1, 6},
    {"sqrt", UnaryOp::kSqrt, [](double x) { return std::sqrt(x); }},
    {"rsqrt", UnaryOp::kRsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 6},
    {"reciprocal", UnaryOp::kReciprocal, [](double x) { return 1 / x; }, -6, -0.1},
    {"sin", UnaryOp::kSin, [](double x) { return std::sin(x); }},
    {"cos", UnaryOp::kCos, [](double x) { return std::cos(x); }},
    {"sigmoid", UnaryOp::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", UnaryOp::kTanh, [](double x) { return std::tanh(x); }},
    {"silu", UnaryOp::kSilu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"softplus", UnaryOp::kSoftplus, [](double x) { return std::log1p(std::exp(x)); }},
    {"floor", UnaryOp::kFloor, [](double x) { return std::floor(x); }},
    {"ceil", UnaryOp::kCeil, [](double x) { return std::ceil(x); }},
    {"round", UnaryOp::kRound, [](double x) { return std::nearbyint(x); }},
    {"erf", UnaryOp::kErf, [](double x) { return std::erf(x); }},
    {"log1p", UnaryOp::kLog1p, [](double x) { return std::log1p(x); }, -0.75, 6},
    {"expm1", UnaryOp::kExpm1, [](double x) { return std::expm1(x); }, -6, 5},
};
static_assert(std::size(kUnaryCases) == static_cast<size_t>(UnaryOp::kEnd));

template <class Body>
void for_each_case(Body&& body) {
  for_each_instruction_set([&] {
    for (const UnaryCase& test : kUnaryCases) {
      for (const DType dtype : kFloatDtypes) {
        SCOPED_TRACE(std::string(test.name) + " " + name_of(dtype));
        body(test, dtype);
      }
    }
  });
}

void expect_reference(const UnaryCase& test, HostTensor& x, const HostTensor& out) {
  x.fill_uniform(test.low, test.high, 21);
  ASSERT_TRUE(run_unary(test.op, x, out).ok());
  expect_elements(out, [&](int64_t i) { return test.reference(x.get(i)); });
}

TEST(Unary, EqualsTheReferenceAtEverySize) {
  for_each_case([](const UnaryCase& test, DType dtype) {
    for (const int64_t size : kCaseSizes) {
      HostTensor x(dtype, {size});
      expect_reference(test, x, HostTensor(dtype, {size}));
    }
  });
}

TEST(Unary, EqualsTheReferenceAtAnyStrides) {
  for_each_case([](const UnaryCase& test, DType dtype) {
    for (const Shape& strides : kCaseStrides) {
      for (const Shape& out_strides : kOutputStrides) {
        HostTensor x(dtype, kCaseShape, strides);
        expect_reference(test, x, HostTensor(dtype, kCaseShape, out_strides));
      }
    }
  });
}

TEST(Unary, WritesOverItsInput) {
  for_each_case([](const UnaryCase& test, DType dtype) {
    HostTensor x(dtype, {777});
    x.fill_uniform(test.low, test.high, 22);
    HostTensor out = x;
    ASSERT_TRUE(run_unary(test.op, out, out).ok());
    expect_elements(out, [&](int64_t i) { return test.reference(x.get(i)); });
  });
}

TEST(Unary, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const UnaryCase& test : kUnaryCases) {
    HostTensor x(DType::kF32, {100003});
    HostTensor one(DType::kBF16, {100003});
    expect_reference(test, x, one);
    for (const int threads : {2, 7}) {
      HostTensor out(DType::kBF16, {100003});
      ASSERT_TRUE(run_unary(test.op, x, out, threads).ok());
      EXPECT_EQ(out.bytes(), one.bytes());
    }
  }
}

double apply(UnaryOp op, DType dtype, double value) {
  HostTensor x(dtype, {1});
  x.set(0, value);
  HostTensor out(dtype, {1});
  EXPECT_TRUE(run_unary(op, x, out).ok());
  return out.get(0);
}

TEST(Negate, TurnsTheSignOfZeroAndKeepsSubnormals) {
  for_each_instruction_set([] {
    EXPECT_TRUE(std::signbit(apply(UnaryOp::kNegate, DType::kF32, 0.0)));
    EXPECT_EQ(apply(UnaryOp::kNegate, DType::kF32, 0x1p-149), -0x1p-149);
    EXPECT_EQ(apply(UnaryOp::kNegate, DType::kBF16, 0x1p-133), -0x1p-133);
  });
}

TEST(Affine, ScalesAndShiftsEveryFloatDtype) {
  for_each_instruction_set([] {
    for (const DType dtype : kFloatDtypes) {
      SCOPED_TRACE(name_of(dtype));
      for (const int64_t size : kCaseSizes) {
        HostTensor x(dtype, {size});
        x.fill_uniform(-3, 3, 23);
        HostTensor out(dtype, {size});
        ASSERT_TRUE(run_affine(2.5, -1.25, x, out).ok());
        expect_elements(out, [&](int64_t i) { return x.get(i) * 2.5 - 1.25; });
      }
    }
  });
}

TEST(Affine, GivesTheSameBitsOnEveryInstructionSetAndThreadCount) {
  HostTensor x(DType::kF32, {70001});
  x.fill_uniform(-3, 3, 24);
  HostTensor first(DType::kF16, {70001});
  ASSERT_TRUE(run_affine(0.3, 0.7, x, first).ok());
  for_each_instruction_set([&] {
    for (const int threads : {1, 2, 7}) {
      HostTensor out(DType::kF16, {70001});
      ASSERT_TRUE(run_affine(0.3, 0.7, x, out, threads).ok());
      EXPECT_EQ(out.bytes(), first.bytes());
    }
  });
}

TEST(Affine, RefusesIntegers) {
  const HostTensor x(DType::kI32, {4});
  EXPECT_EQ(run_affine(1, 0, x, HostTensor(DType::kI32, {4})).code, Code::kUnsupported);
}

}  // namespace
}  // namespace halftone
