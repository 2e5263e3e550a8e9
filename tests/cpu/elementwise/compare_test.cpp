#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

struct CompareCase {
  const char* name;
  CompareOp op;
  bool (*reference)(double a, double b);
};

const CompareCase kCompareCases[] = {
    {"equal", CompareOp::kEqual, [](double a, double b) { return a == b; }},
    {"not_equal", CompareOp::kNotEqual, [](double a, double b) { return a != b; }},
    {"less", CompareOp::kLess, [](double a, double b) { return a < b; }},
    {"less_equal", CompareOp::kLessEqual, [](double a, double b) { return a <= b; }},
    {"logical_and", CompareOp::kLogicalAnd, [](double a, double b) { return a != 0 && b != 0; }},
    {"logical_or", CompareOp::kLogicalOr, [](double a, double b) { return a != 0 || b != 0; }},
    {"both_finite", CompareOp::kBothFinite, [](double a, double b) { return std::isfinite(a) && std::isfinite(b); }},
};
static_assert(std::size(kCompareCases) == static_cast<size_t>(CompareOp::kEnd));

const DType kComparedDtypes[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64,
                                 DType::kI32, DType::kI16, DType::kI8,  DType::kU8,   DType::kBool};

// Small whole numbers, so that every relation is frequent; infinities and NaN among floats.
HostTensor operand(DType dtype, const Shape& shape, const Shape& strides, int step) {
  HostTensor tensor(dtype, shape, strides);
  const double specials[] = {INFINITY, -INFINITY, NAN};
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const int64_t value = i * step % 11;
    const bool is_special = is_float(dtype) && value > 7;
    tensor.set(i,
               is_special ? specials[value - 8] : static_cast<double>(dtype == DType::kBool ? value % 2 : value % 4));
  }
  return tensor;
}

template <class Body>
void for_each_case(Body&& body) {
  for_each_instruction_set([&] {
    for (const CompareCase& test : kCompareCases) {
      for (const DType dtype : kComparedDtypes) {
        SCOPED_TRACE(std::string(test.name) + " " + name_of(dtype));
        body(test, dtype);
      }
    }
  });
}

void expect_reference(const CompareCase& test, const HostTensor& a, const HostTensor& b, const HostTensor& out) {
  ASSERT_TRUE(run_compare(test.op, a, b, out).ok());
  expect_elements(out, [&](int64_t i) { return test.reference(a.get(i), b.get(i)) ? 1.0 : 0.0; });
}

TEST(Compare, EqualsTheReferenceAtEverySize) {
  for_each_case([](const CompareCase& test, DType dtype) {
    for (const int64_t size : kCaseSizes) {
      expect_reference(test, operand(dtype, {size}, {1}, 1), operand(dtype, {size}, {1}, 3),
                       HostTensor(DType::kBool, {size}));
    }
  });
}

TEST(Compare, TellsNeighboursOfInt64Apart) {
  for_each_instruction_set([] {
    const HostTensor a(DType::kI64, {1});
    const HostTensor b(DType::kI64, {1});
    *static_cast<int64_t*>(a.data()) = INT64_MAX - 1;
    *static_cast<int64_t*>(b.data()) = INT64_MAX;
    HostTensor out(DType::kBool, {1});
    ASSERT_TRUE(run_compare(CompareOp::kEqual, a, b, out).ok());
    EXPECT_EQ(out.get(0), 0);
    ASSERT_TRUE(run_compare(CompareOp::kLess, a, b, out).ok());
    EXPECT_EQ(out.get(0), 1);
  });
}

TEST(Compare, GivesTheSameOnAnyNumberOfThreads) {
  const HostTensor a = operand(DType::kF32, {100003}, {1}, 1);
  const HostTensor b = operand(DType::kBF16, {100003}, {1}, 5);
  HostTensor one(DType::kBool, {100003});
  ASSERT_TRUE(run_compare(CompareOp::kLess, a, b, one).ok());
  for (const int threads : {2, 7}) {
    HostTensor out(DType::kBool, {100003});
    ASSERT_TRUE(run_compare(CompareOp::kLess, a, b, out, threads).ok());
    EXPECT_EQ(out.bytes(), one.bytes());
  }
}

}  // namespace
}  // namespace halftone
