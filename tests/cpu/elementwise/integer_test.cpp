#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

// The value wrapped into the dtype's range, as in two's complement.
double wrapped(DType dtype, int64_t value) {
  double result = 0;
  try_visit_dtype(IntegerTypes{}, dtype, [&]<class T>() { result = static_cast<double>(static_cast<T>(value)); });
  return result;
}

struct IntegerCase {
  const char* name;
  BinaryOp op;
  int64_t (*reference)(int64_t a, int64_t b);
};

const IntegerCase kIntegerCases[] = {
    {"add", BinaryOp::kAdd, [](int64_t a, int64_t b) { return a + b; }},
    {"subtract", BinaryOp::kSubtract, [](int64_t a, int64_t b) { return a - b; }},
    {"multiply", BinaryOp::kMultiply, [](int64_t a, int64_t b) { return a * b; }},
    {"relu_backward", BinaryOp::kReluBackward, [](int64_t a, int64_t b) { return b > 0 ? a : 0; }},
};

void expect_wrapping(const IntegerCase& test, DType dtype, const Shape& strides) {
  HostTensor a(dtype, kCaseShape, strides);
  HostTensor b(dtype, kCaseShape);
  const double low = dtype == DType::kU8 ? 0 : -127;
  a.fill_uniform(low, 127, 31);
  b.fill_uniform(low, 127, 32);
  HostTensor out(dtype, kCaseShape);
  ASSERT_TRUE(run_binary(test.op, a, b, out).ok());
  expect_elements(out, [&](int64_t i) {
    return wrapped(dtype, test.reference(static_cast<int64_t>(a.get(i)), static_cast<int64_t>(b.get(i))));
  });
}

TEST(IntegerBinary, WrapsInTwosComplement) {
  for_each_instruction_set([] {
    for (const IntegerCase& test : kIntegerCases) {
      for (const DType dtype : kIntegerDtypes) {
        SCOPED_TRACE(std::string(test.name) + " " + name_of(dtype));
        for (const Shape& strides : kCaseStrides) expect_wrapping(test, dtype, strides);
      }
    }
  });
}

int64_t of_int64(BinaryOp op, int64_t a, int64_t b) {
  ThreadPool pool(1);
  cpu::CpuStream stream(pool);
  int64_t out = 0;
  const auto scalar = [](int64_t& value) { return View{&value, DType::kI64, {1}, {1}}; };
  EXPECT_TRUE(cpu::kElementwiseKernels.binary(stream, op, scalar(a), scalar(b), scalar(out)).ok());
  return out;
}

TEST(IntegerBinary, WrapsAtTheEndsOfInt64) {
  for_each_instruction_set([] {
    EXPECT_EQ(of_int64(BinaryOp::kAdd, INT64_MAX, 1), INT64_MIN);
    EXPECT_EQ(of_int64(BinaryOp::kSubtract, INT64_MIN, 1), INT64_MAX);
    EXPECT_EQ(of_int64(BinaryOp::kMultiply, INT64_MIN, -1), INT64_MIN);
    EXPECT_EQ(of_int64(BinaryOp::kMultiply, int64_t{1} << 40, (int64_t{1} << 30) + 1), int64_t{1} << 40);
  });
}

TEST(IntegerUnary, NegatesAndClamps) {
  for_each_instruction_set([] {
    for (const DType dtype : kIntegerDtypes) {
      SCOPED_TRACE(name_of(dtype));
      HostTensor x(dtype, {600});
      x.fill_uniform(dtype == DType::kU8 ? 0 : -128, 127, 33);
      HostTensor out(dtype, {600});
      ASSERT_TRUE(run_unary(UnaryOp::kNegate, x, out).ok());
      expect_elements(out, [&](int64_t i) { return wrapped(dtype, -static_cast<int64_t>(x.get(i))); });
      ASSERT_TRUE(run_unary(UnaryOp::kRelu, x, out).ok());
      expect_elements(out, [&](int64_t i) { return x.get(i) > 0 ? x.get(i) : 0; });
      ASSERT_TRUE(run_unary(UnaryOp::kSign, x, out).ok());
      expect_elements(out, [&](int64_t i) { return x.get(i) > 0 ? 1.0 : x.get(i) < 0 ? -1.0 : 0.0; });
    }
  });
}

TEST(IntegerElementwise, RefusesWhatOnlyFloatsHave) {
  const HostTensor x(DType::kI32, {4});
  const HostTensor out(DType::kI32, {4});
  const std::vector<std::byte> before = out.bytes();
  for (const BinaryOp op : {BinaryOp::kDivide, BinaryOp::kGeluErfBackward, BinaryOp::kGeluTanhBackward}) {
    EXPECT_EQ(run_binary(op, x, x, out).code, Code::kUnsupported);
  }
  for (const UnaryOp op : {UnaryOp::kGeluErf, UnaryOp::kGeluTanh}) {
    EXPECT_EQ(run_unary(op, x, out).code, Code::kUnsupported);
  }
  EXPECT_EQ(run_ternary(TernaryOp::kPowerBaseBackward, {x, x, x}, out).code, Code::kUnsupported);
  for (const ActivationOp op : {ActivationOp::kLeakyRelu, ActivationOp::kElu}) {
    EXPECT_EQ(run_activation({op, 1}, x, out).code, Code::kUnsupported);
    EXPECT_EQ(run_activation_backward({op, 1}, x, x, out).code, Code::kUnsupported);
  }
  EXPECT_EQ(run_clamp({0, 1}, x, out).code, Code::kUnsupported);
  EXPECT_EQ(run_clamp_backward({0, 1}, x, x, out).code, Code::kUnsupported);
  EXPECT_EQ(run_affine(1, 0, x, out).code, Code::kUnsupported);
  EXPECT_EQ(out.bytes(), before);
}

}  // namespace
}  // namespace halftone
