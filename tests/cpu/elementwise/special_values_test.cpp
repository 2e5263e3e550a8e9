// Values of elementwise kernels that no case of an operation draws: zeros of both signs, subnormal numbers, NaN on one
// side alone, quotients that are rounded once.
#include "cpu/elementwise/cases.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

HostTensor tensor_of(DType dtype, const std::vector<double>& values) {
  HostTensor tensor(dtype, {static_cast<int64_t>(values.size())});
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, values[static_cast<size_t>(i)]);
  return tensor;
}

void expect_values(const HostTensor& out, const std::vector<double>& expected) {
  for (int64_t i = 0; i < out.numel(); ++i) EXPECT_EQ(out.get(i), expected[static_cast<size_t>(i)]) << i;
}

TEST(Negate, TurnsTheSignOfZeroAndKeepsSubnormals) {
  for_each_instruction_set([] {
    const HostTensor out(DType::kF32, {2}), narrow(DType::kBF16, {1});
    ASSERT_TRUE(run_unary(UnaryOp::kNegate, tensor_of(DType::kF32, {0.0, 0x1p-149}), out).ok());
    EXPECT_TRUE(std::signbit(out.get(0)));
    expect_values(out, {0, -0x1p-149});
    ASSERT_TRUE(run_unary(UnaryOp::kNegate, tensor_of(DType::kBF16, {0x1p-133}), narrow).ok());
    expect_values(narrow, {-0x1p-133});
  });
}

TEST(Divide, RoundsAsIeeeDoes) {
  for_each_instruction_set([] {
    HostTensor a(DType::kF32, {5000}), b(DType::kF32, {5000}), out(DType::kF32, {5000});
    a.fill_uniform(-4, 4, 13);
    b.fill_uniform(0.25, 4, 14);
    ASSERT_TRUE(run_binary(BinaryOp::kDivide, a, b, out).ok());
    for (int64_t i = 0; i < 5000; ++i) {
      ASSERT_EQ(out.get(i), static_cast<float>(a.get(i)) / static_cast<float>(b.get(i)));
    }
  });
}

TEST(ReluBackward, StopsAtZeroAndPassesWhereTheInputIsNan) {
  for_each_instruction_set([] {
    const HostTensor out(DType::kF32, {5});
    ASSERT_TRUE(run_binary(BinaryOp::kReluBackward, tensor_of(DType::kF32, {3, 3, 3, 3, 3}),
                           tensor_of(DType::kF32, {0.0, -0.0, NAN, -INFINITY, 0x1p-149}), out)
                    .ok());
    expect_values(out, {0, 0, 3, 0, 3});
  });
}

TEST(MaximumBackward, PassesBothSidesWhereEitherIsNan) {
  for_each_instruction_set([] {
    const HostTensor in[] = {tensor_of(DType::kF32, {3, 3, 3}), tensor_of(DType::kF32, {NAN, 1, NAN}),
                             tensor_of(DType::kF32, {1, NAN, NAN})};
    const HostTensor out(DType::kF32, {3});
    ASSERT_TRUE(run_ternary(TernaryOp::kMaximumBackward, in, out).ok());
    expect_values(out, {3, 3, 3});
  });
}

TEST(Compare, TellsNeighboursOfInt64Apart) {
  for_each_instruction_set([] {
    const HostTensor a(DType::kI64, {1}), b(DType::kI64, {1}), out(DType::kBool, {1});
    *static_cast<int64_t*>(a.data()) = INT64_MAX - 1;
    *static_cast<int64_t*>(b.data()) = INT64_MAX;
    ASSERT_TRUE(run_compare(CompareOp::kEqual, a, b, out).ok());
    expect_values(out, {0});
    ASSERT_TRUE(run_compare(CompareOp::kLess, a, b, out).ok());
    expect_values(out, {1});
  });
}

}  // namespace
}  // namespace halftone
