// Products in the terms of cuBLASLt: which it takes, and as what.
#include "cuda/gemm/lt_problem.h"

#include <gtest/gtest.h>

namespace halftone::cuda {
namespace {

constexpr std::uintptr_t kAddress = 1 << 20;

View matrix(DType dtype, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride = 1) {
  return {.data = reinterpret_cast<void*>(kAddress),
          .dtype = dtype,
          .shape = {rows, columns},
          .strides = {row_stride, column_stride}};
}

// [20, 30] x [30, 40], all row-major.
GemmArgs product(DType dtype) {
  return {.a = matrix(dtype, 20, 30, 30), .b = matrix(dtype, 30, 40, 40), .c = matrix(dtype, 20, 40, 40)};
}

View bias(DType dtype) {
  return {.data = reinterpret_cast<void*>(kAddress), .dtype = dtype, .shape = {40}, .strides = {1}};
}

bool writes_c(const GemmArgs& args) {
  const LtPlan plan = lt_plan(args, false);
  return plan.is_possible && !plan.writes_sums;
}

TEST(LtPlan, RowMajorMatricesChangePlaces) {
  const LtPlan plan = lt_plan(product(DType::kF32), false);
  ASSERT_TRUE(plan.is_possible);
  EXPECT_FALSE(plan.writes_sums);
  EXPECT_EQ(plan.problem.is_swapped, 1);
  EXPECT_EQ(plan.problem.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(plan.problem.a, (LtMatrix{.rows = 40, .columns = 30, .leading = 40, .is_transposed = 0, .alignment = 256}));
  EXPECT_EQ(plan.problem.b, (LtMatrix{.rows = 30, .columns = 20, .leading = 30, .is_transposed = 0, .alignment = 256}));
  EXPECT_EQ(plan.problem.d, (LtMatrix{.rows = 40, .columns = 20, .leading = 40, .is_transposed = 0, .alignment = 256}));
  EXPECT_EQ(plan.problem.c, plan.problem.d);
}

TEST(LtPlan, TransposedOperandsStayInPlace) {
  GemmArgs args = product(DType::kBF16);
  args.a = matrix(DType::kBF16, 20, 30, 1, 24);
  args.b = matrix(DType::kBF16, 30, 40, 1, 32);
  const LtPlan plan = lt_plan(args, false);
  ASSERT_TRUE(plan.is_possible);
  EXPECT_EQ(plan.problem.a, (LtMatrix{.rows = 30, .columns = 40, .leading = 32, .is_transposed = 1, .alignment = 256}));
  EXPECT_EQ(plan.problem.b, (LtMatrix{.rows = 20, .columns = 30, .leading = 24, .is_transposed = 1, .alignment = 256}));
}

TEST(LtPlan, AColumnMajorResultNeedsNoSwap) {
  GemmArgs args = product(DType::kF32);
  args.c = matrix(DType::kF32, 20, 40, 1, 20);
  const LtPlan plan = lt_plan(args, false);
  ASSERT_TRUE(plan.is_possible);
  EXPECT_EQ(plan.problem.is_swapped, 0);
  EXPECT_EQ(plan.problem.a.is_transposed, 1);
  EXPECT_EQ(plan.problem.d.rows, 20);
}

TEST(LtPlan, TheStrideOfASingleRowHasNoMeaning) {
  GemmArgs args = {
      .a = matrix(DType::kF32, 1, 300, 0), .b = matrix(DType::kF32, 300, 40, 40), .c = matrix(DType::kF32, 1, 40, 7)};
  const LtPlan plan = lt_plan(args, false);
  ASSERT_TRUE(plan.is_possible);
  EXPECT_EQ(plan.problem.b.leading, 300);
  EXPECT_EQ(plan.problem.d.leading, 40);
}

TEST(LtPlan, RefusesOtherStridesAndRepeatedElements) {
  for (const auto& [row, column] : {std::pair<int64_t, int64_t>{60, 2}, {0, 1}, {1, 0}, {29, 1}, {1, 19}}) {
    GemmArgs args = product(DType::kF32);
    args.a = matrix(DType::kF32, 20, 30, row, column);
    EXPECT_FALSE(lt_plan(args, false).is_possible) << row << " " << column;
  }
}

TEST(LtPlan, RefusesMixturesAndSmallProducts) {
  GemmArgs mixed = product(DType::kF32);
  mixed.a.dtype = DType::kBF16;
  EXPECT_FALSE(lt_plan(mixed, false).is_possible);
  const GemmArgs small = {
      .a = matrix(DType::kF32, 8, 8, 8), .b = matrix(DType::kF32, 8, 8, 8), .c = matrix(DType::kF32, 8, 8, 8)};
  EXPECT_FALSE(lt_plan(small, false).is_possible);
}

TEST(LtPlan, AResultOfAnotherTypeIsFinishedByAKernel) {
  GemmArgs args = product(DType::kBF16);
  args.c.dtype = DType::kF16;
  EXPECT_TRUE(lt_plan(args, false).writes_sums);
  EXPECT_EQ(lt_plan(args, false).problem.result_type, CUDA_R_32F);
  args.c.dtype = DType::kF32;
  EXPECT_FALSE(lt_plan(args, false).writes_sums);
}

TEST(LtPlan, AddsBiasAndOneMatrixOfItsOwnType) {
  GemmArgs args = product(DType::kBF16);
  args.bias = bias(DType::kBF16);
  EXPECT_TRUE(writes_c(args));
  EXPECT_EQ(lt_plan(args, false).problem.has_bias, 1);
  args.residual = matrix(DType::kBF16, 20, 40, 50);
  EXPECT_TRUE(writes_c(args));
  EXPECT_EQ(lt_plan(args, false).problem.c.leading, 50);
  EXPECT_EQ(lt_plan(args, false).problem.adds, 1);
  args.store = Store::kAdd;
  EXPECT_FALSE(writes_c(args));
  args.store = Store::kWrite;
  args.residual = matrix(DType::kBF16, 20, 40, 1, 20);
  EXPECT_FALSE(writes_c(args));
  args.residual = matrix(DType::kF32, 20, 40, 40);
  EXPECT_FALSE(writes_c(args));
  args.residual = {};
  args.bias.dtype = DType::kF32;
  EXPECT_FALSE(writes_c(args));
  args.bias = bias(DType::kBF16);
  args.bias.strides[0] = 0;
  EXPECT_FALSE(writes_c(args));
}

TEST(LtPlan, RoundsToTf32OnlyWhereAllowed) {
  EXPECT_EQ(lt_plan(product(DType::kF32), true).problem.compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(lt_plan(product(DType::kBF16), true).problem.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(lt_plan(product(DType::kF64), true).problem.compute, CUBLAS_COMPUTE_64F);
}

TEST(LtPlan, KnowsTheAlignmentOfEachOperand) {
  GemmArgs args = product(DType::kBF16);
  args.a.data = reinterpret_cast<void*>(kAddress + 6);
  EXPECT_EQ(lt_plan(args, false).problem.b.alignment, 2);
  EXPECT_EQ(lt_plan(args, false).problem.a.alignment, 256);
}

TEST(LtAdvice, IsForLargeProductsWithOddRows) {
  const auto plan_of = [](DType dtype, int64_t m, int64_t n, int64_t k) {
    return lt_plan({.a = matrix(dtype, m, k, k), .b = matrix(dtype, k, n, n), .c = matrix(dtype, m, n, n)}, false);
  };
  EXPECT_TRUE(is_misaligned(plan_of(DType::kBF16, 1024, 50257, 768).problem));
  EXPECT_TRUE(is_misaligned(plan_of(DType::kF16, 1024, 512, 765).problem));
  EXPECT_FALSE(is_misaligned(plan_of(DType::kBF16, 1023, 50264, 768).problem));
  EXPECT_FALSE(is_misaligned(plan_of(DType::kF32, 1024, 50257, 768).problem));
  EXPECT_FALSE(is_misaligned(plan_of(DType::kBF16, 1024, 10, 768).problem));
}

}  // namespace
}  // namespace halftone::cuda
