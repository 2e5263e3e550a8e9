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

constexpr LtOptions kTf32 = {.allows_tf32 = true};
constexpr LtOptions kGelu = {.fuses_gelu = true};

bool writes_c(const GemmArgs& args) {
  const LtPlan plan = lt_plan(args, {});
  return plan.is_possible && !plan.writes_sums;
}

TEST(LtPlan, RowMajorMatricesChangePlaces) {
  const LtPlan plan = lt_plan(product(DType::kF32), {});
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
  const LtPlan plan = lt_plan(args, {});
  ASSERT_TRUE(plan.is_possible);
  EXPECT_EQ(plan.problem.a, (LtMatrix{.rows = 30, .columns = 40, .leading = 32, .is_transposed = 1, .alignment = 256}));
  EXPECT_EQ(plan.problem.b, (LtMatrix{.rows = 20, .columns = 30, .leading = 24, .is_transposed = 1, .alignment = 256}));
}

TEST(LtPlan, AColumnMajorResultNeedsNoSwap) {
  GemmArgs args = product(DType::kF32);
  args.c = matrix(DType::kF32, 20, 40, 1, 20);
  const LtPlan plan = lt_plan(args, {});
  ASSERT_TRUE(plan.is_possible);
  EXPECT_EQ(plan.problem.is_swapped, 0);
  EXPECT_EQ(plan.problem.a.is_transposed, 1);
  EXPECT_EQ(plan.problem.d.rows, 20);
}

TEST(LtPlan, TheStrideOfASingleRowHasNoMeaning) {
  GemmArgs args = {
      .a = matrix(DType::kF32, 1, 300, 0), .b = matrix(DType::kF32, 300, 40, 40), .c = matrix(DType::kF32, 1, 40, 7)};
  const LtPlan plan = lt_plan(args, {});
  ASSERT_TRUE(plan.is_possible);
  EXPECT_EQ(plan.problem.b.leading, 300);
  EXPECT_EQ(plan.problem.d.leading, 40);
}

TEST(LtPlan, RefusesOtherStridesAndRepeatedElements) {
  for (const auto& [row, column] : {std::pair<int64_t, int64_t>{60, 2}, {0, 1}, {1, 0}, {29, 1}, {1, 19}}) {
    GemmArgs args = product(DType::kF32);
    args.a = matrix(DType::kF32, 20, 30, row, column);
    EXPECT_FALSE(lt_plan(args, {}).is_possible) << row << " " << column;
  }
}

TEST(LtPlan, RefusesMixturesAndSmallProducts) {
  GemmArgs mixed = product(DType::kF32);
  mixed.a.dtype = DType::kBF16;
  EXPECT_FALSE(lt_plan(mixed, {}).is_possible);
  const GemmArgs small = {
      .a = matrix(DType::kF32, 8, 8, 8), .b = matrix(DType::kF32, 8, 8, 8), .c = matrix(DType::kF32, 8, 8, 8)};
  EXPECT_FALSE(lt_plan(small, {}).is_possible);
}

TEST(LtPlan, AResultOfAnotherTypeIsFinishedByAKernel) {
  GemmArgs args = product(DType::kBF16);
  args.c.dtype = DType::kF16;
  EXPECT_TRUE(lt_plan(args, {}).writes_sums);
  EXPECT_EQ(lt_plan(args, {}).problem.result_type, CUDA_R_32F);
  args.c.dtype = DType::kF32;
  EXPECT_FALSE(lt_plan(args, {}).writes_sums);
}

TEST(LtPlan, AddsBiasAndOneMatrixOfItsOwnType) {
  GemmArgs args = product(DType::kBF16);
  args.bias = bias(DType::kBF16);
  EXPECT_TRUE(writes_c(args));
  EXPECT_EQ(lt_plan(args, {}).problem.epilogue, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(lt_plan(args, {}).problem.bias_type, CUDA_R_16BF);
  args.residual = matrix(DType::kBF16, 20, 40, 50);
  EXPECT_TRUE(writes_c(args));
  EXPECT_EQ(lt_plan(args, {}).problem.c.leading, 50);
  EXPECT_EQ(lt_plan(args, {}).problem.adds, 1);
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
  EXPECT_EQ(lt_plan(product(DType::kF32), kTf32).problem.compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(lt_plan(product(DType::kBF16), kTf32).problem.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(lt_plan(product(DType::kF64), kTf32).problem.compute, CUBLAS_COMPUTE_64F);
}

TEST(LtPlan, KnowsTheAlignmentOfEachOperand) {
  GemmArgs args = product(DType::kBF16);
  args.a.data = reinterpret_cast<void*>(kAddress + 6);
  EXPECT_EQ(lt_plan(args, {}).problem.b.alignment, 2);
  EXPECT_EQ(lt_plan(args, {}).problem.a.alignment, 256);
  EXPECT_EQ(lt_plan(args, {}).problem.bias_alignment, 0);
  args.bias = bias(DType::kBF16);
  args.bias.data = reinterpret_cast<void*>(kAddress + 4);
  EXPECT_EQ(lt_plan(args, {}).problem.bias_alignment, 4);
}

View sums_of_rows(DType dtype, int64_t stride = 1) {
  return {.data = reinterpret_cast<void*>(kAddress + 32), .dtype = dtype, .shape = {20}, .strides = {stride}};
}

TEST(LtPlan, GivesTheSumsOfOurLeftRows) {
  GemmArgs args = product(DType::kBF16);
  args.sums_of_a = sums_of_rows(DType::kBF16);
  LtPlan plan = lt_plan(args, {});
  EXPECT_TRUE(gives_sums(plan.problem));
  EXPECT_EQ(plan.problem.epilogue, CUBLASLT_EPILOGUE_BGRADB);  // a and b have changed places
  EXPECT_EQ(plan.problem.bias_type, CUDA_R_16BF);
  EXPECT_EQ(plan.problem.bias_alignment, 32);
  args.store = Store::kAdd;
  EXPECT_TRUE(gives_sums(lt_plan(args, {}).problem));
  args.c = matrix(DType::kBF16, 20, 40, 1, 20);
  EXPECT_EQ(lt_plan(args, {}).problem.epilogue, CUBLASLT_EPILOGUE_BGRADA);
  EXPECT_FALSE(gives_sums(lt_plan(args, {.fuses_sums = false}).problem));
}

// Rounded sums are none in FP32, and FP32 memory is none of the result's type.
TEST(LtPlan, GivesSumsInTheTypeOfTheResultAlone) {
  GemmArgs args = product(DType::kBF16);
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    args.sums_of_a = sums_of_rows(dtype);
    EXPECT_FALSE(gives_sums(lt_plan(args, {}).problem));
  }
  args.c.dtype = DType::kF32;
  EXPECT_FALSE(gives_sums(lt_plan(args, {}).problem));
  args.sums_of_a = sums_of_rows(DType::kF32);
  EXPECT_TRUE(gives_sums(lt_plan(args, {}).problem));
  args.sums_store = Store::kAdd;
  EXPECT_FALSE(gives_sums(lt_plan(args, {}).problem));
  args.sums_store = Store::kWrite;
  args.sums_of_a = sums_of_rows(DType::kF32, 2);
  EXPECT_FALSE(gives_sums(lt_plan(args, {}).problem));
  GemmArgs wide = product(DType::kF64);
  wide.sums_of_a = sums_of_rows(DType::kF64);
  EXPECT_FALSE(gives_sums(lt_plan(wide, {}).problem));
}

// The product has one end: with a bias the sums are left to a kernel, unless a kernel adds the bias.
TEST(LtPlan, GivesSumsBesideNoOtherEnd) {
  GemmArgs args = product(DType::kBF16);
  args.sums_of_a = sums_of_rows(DType::kBF16);
  args.bias = bias(DType::kBF16);
  EXPECT_EQ(lt_plan(args, {}).problem.epilogue, CUBLASLT_EPILOGUE_BIAS);
  args.sums_of_a.dtype = DType::kF32;
  args.activation = GemmActivation::kSilu;
  EXPECT_TRUE(lt_plan(args, {}).writes_sums);
  EXPECT_EQ(lt_plan(args, {}).problem.epilogue, CUBLASLT_EPILOGUE_BGRADB);
}

TEST(LtPlan, EndsInGeluWhereTheDeviceAllowsIt) {
  GemmArgs args = product(DType::kBF16);
  args.activation = GemmActivation::kGeluTanh;
  EXPECT_TRUE(lt_plan(args, {}).writes_sums);
  EXPECT_EQ(lt_plan(args, kGelu).problem.epilogue, CUBLASLT_EPILOGUE_GELU);
  args.bias = bias(DType::kBF16);
  EXPECT_EQ(lt_plan(args, kGelu).problem.epilogue, CUBLASLT_EPILOGUE_GELU_BIAS);
  EXPECT_TRUE(has_rare_end(lt_plan(args, kGelu).problem));
  args.sum = matrix(DType::kBF16, 20, 40, 48);
  EXPECT_EQ(lt_plan(args, kGelu).problem.epilogue, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
  EXPECT_EQ(lt_plan(args, kGelu).problem.argument_leading, 48);
  EXPECT_EQ(lt_plan(args, kGelu).problem.argument_alignment, 256);
  args.bias = {};
  EXPECT_EQ(lt_plan(args, kGelu).problem.epilogue, CUBLASLT_EPILOGUE_GELU_AUX);
  for (const GemmActivation other : {GemmActivation::kRelu, GemmActivation::kGeluErf, GemmActivation::kSilu}) {
    args.activation = other;
    EXPECT_TRUE(lt_plan(args, kGelu).writes_sums);
  }
}

TEST(LtPlan, NeverEndsResultsOf32BitsInTheGeluOfCublasLt) {
  GemmArgs args = product(DType::kF32);
  args.activation = GemmActivation::kGeluTanh;
  EXPECT_TRUE(lt_plan(args, kGelu).writes_sums);
  args = product(DType::kBF16);
  args.activation = GemmActivation::kGeluTanh;
  args.c.dtype = DType::kF32;
  EXPECT_TRUE(lt_plan(args, kGelu).writes_sums);
}

TEST(LtPlan, WritesTheArgumentOfGeluInTheOrderOfTheResultAlone) {
  GemmArgs args = product(DType::kBF16);
  args.activation = GemmActivation::kGeluTanh;
  const auto is_fused_with = [&](const View& sum) {
    args.sum = sum;
    return !lt_plan(args, kGelu).writes_sums;
  };
  EXPECT_TRUE(is_fused_with(matrix(DType::kBF16, 20, 40, 40)));
  EXPECT_FALSE(is_fused_with(matrix(DType::kBF16, 20, 40, 44)));  // no multiple of 8
  EXPECT_FALSE(is_fused_with(matrix(DType::kF32, 20, 40, 40)));
  EXPECT_FALSE(is_fused_with(matrix(DType::kBF16, 20, 40, 1, 24)));
  View moved = matrix(DType::kBF16, 20, 40, 40);
  moved.data = reinterpret_cast<void*>(kAddress + 8);
  EXPECT_FALSE(is_fused_with(moved));
}

TEST(LtPlan, EndsInTheBackwardOfGeluAlone) {
  GemmArgs args = product(DType::kF16);
  args.activation = GemmActivation::kGeluTanh;
  args.argument = matrix(DType::kF16, 20, 40, 40);
  EXPECT_TRUE(lt_plan(args, {}).writes_sums);
  EXPECT_EQ(lt_plan(args, kGelu).problem.epilogue, CUBLASLT_EPILOGUE_DGELU);
  EXPECT_EQ(lt_plan(args, kGelu).problem.argument_leading, 40);
  args.bias = bias(DType::kF16);
  EXPECT_TRUE(lt_plan(args, kGelu).writes_sums);
  args.bias = {};
  args.residual = matrix(DType::kF16, 20, 40, 40);
  EXPECT_TRUE(lt_plan(args, kGelu).writes_sums);
}

TEST(LtAdvice, IsForLargeProductsWithOddRows) {
  const auto plan_of = [](DType dtype, int64_t m, int64_t n, int64_t k) {
    return lt_plan({.a = matrix(dtype, m, k, k), .b = matrix(dtype, k, n, n), .c = matrix(dtype, m, n, n)}, {});
  };
  EXPECT_TRUE(is_misaligned(plan_of(DType::kBF16, 1024, 50257, 768).problem));
  EXPECT_TRUE(is_misaligned(plan_of(DType::kF16, 1024, 512, 765).problem));
  EXPECT_FALSE(is_misaligned(plan_of(DType::kBF16, 1023, 50264, 768).problem));
  EXPECT_FALSE(is_misaligned(plan_of(DType::kF32, 1024, 50257, 768).problem));
  EXPECT_FALSE(is_misaligned(plan_of(DType::kBF16, 1024, 10, 768).problem));
}

}  // namespace
}  // namespace halftone::cuda
