// Convolutions in the terms of cuDNN: which ones it gets, and which of its algorithms are exact.
#include <gtest/gtest.h>

#include "cuda/dnn/problem.h"

namespace halftone::cuda {
namespace {

View dense(DType dtype, const Shape& shape) {
  return {.data = nullptr, .dtype = dtype, .shape = shape, .strides = contiguous_strides(shape)};
}

// Two groups of three channels each to four.
ConvArgs usual(DType dtype) {
  return {.input = dense(dtype, {2, 6, 9, 11}),
          .weight = dense(dtype, {8, 3, 3, 2}),
          .output = dense(dtype, {2, 8, 4, 11}),
          .window = {.stride = {2, 1}, .padding = {1, 1}, .dilation = {2, 2}},
          .groups = 2};
}

bool is_taken(ConvPass pass, const ConvArgs& args, bool allows_tf32 = false) {
  DnnProblem problem;
  return describe(pass, args, allows_tf32, &problem);
}

int32_t memory[64] = {};  // of a bias
View bias_of(DType dtype, int64_t count, int64_t stride = 1) {
  return {.data = memory, .dtype = dtype, .shape = {count}, .strides = {stride}};
}

constexpr ConvPass kAll[] = {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight};

TEST(DnnProblem, HasTheSizesOfTheConvolution) {
  DnnProblem problem;
  ASSERT_TRUE(describe(ConvPass::kGradWeight, usual(DType::kBF16), false, &problem));
  EXPECT_EQ(problem.pass, ConvPass::kGradWeight);
  EXPECT_EQ(problem.type, DnnType::kBfloat16);
  EXPECT_EQ(problem.input[3], 11);
  EXPECT_EQ(problem.weight[0], 8);
  EXPECT_EQ(problem.weight[1], 3);
  EXPECT_EQ(problem.output[2], 4);
  EXPECT_EQ(problem.stride[0], 2);
  EXPECT_EQ(problem.padding[1], 1);
  EXPECT_EQ(problem.dilation[1], 2);
  EXPECT_EQ(problem.groups, 2);
}

TEST(DnnProblem, RoundsFp32OperandsOnlyWhereThatIsAllowed) {
  DnnProblem exact, rounded, half;
  ASSERT_TRUE(describe(ConvPass::kForward, usual(DType::kF32), false, &exact));
  ASSERT_TRUE(describe(ConvPass::kForward, usual(DType::kF32), true, &rounded));
  ASSERT_TRUE(describe(ConvPass::kForward, usual(DType::kF16), false, &half));
  EXPECT_EQ(exact.math, DnnMath::kFma);
  EXPECT_EQ(rounded.math, DnnMath::kDefault);
  EXPECT_EQ(half.math, DnnMath::kTensor);
  EXPECT_NE(exact, rounded);
}

TEST(DnnProblem, NeedsOneDtypeThatCudnnHas) {
  for (const ConvPass pass : kAll) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) EXPECT_TRUE(is_taken(pass, usual(dtype)));
    EXPECT_FALSE(is_taken(pass, usual(DType::kF64)));
    ConvArgs mixed = usual(DType::kBF16);
    mixed.output.dtype = DType::kF32;
    EXPECT_FALSE(is_taken(pass, mixed));
    mixed = usual(DType::kBF16);
    mixed.weight.dtype = DType::kF32;
    EXPECT_FALSE(is_taken(pass, mixed));
  }
}

TEST(DnnProblem, NeedsDenseAlignedTensorsWithElements) {
  for (const ConvPass pass : kAll) {
    for (View ConvArgs::*view : {&ConvArgs::input, &ConvArgs::weight, &ConvArgs::output}) {
      ConvArgs args = usual(DType::kF16);
      (args.*view).strides[0] += 1;
      EXPECT_FALSE(is_taken(pass, args));
      args = usual(DType::kF16);
      (args.*view).data = reinterpret_cast<void*>(uintptr_t{0x1008});
      EXPECT_FALSE(is_taken(pass, args));
      (args.*view).data = reinterpret_cast<void*>(uintptr_t{0x1010});
      EXPECT_TRUE(is_taken(pass, args));
    }
    ConvArgs empty = usual(DType::kF16);
    empty.input = dense(DType::kF16, {0, 6, 9, 11});
    empty.output = dense(DType::kF16, {0, 8, 4, 11});
    EXPECT_FALSE(is_taken(pass, empty));
    ConvArgs large = usual(DType::kF16);
    large.input = dense(DType::kF16, {1 << 22, 6, 9, 11});
    large.output = dense(DType::kF16, {1 << 22, 8, 4, 11});
    EXPECT_FALSE(is_taken(pass, large));
  }
}

// Beyond a stride the padding of a transposed convolution's output leaves windows without a position.
TEST(DnnProblem, NeedsAPositionForEachWindow) {
  ConvArgs args = usual(DType::kF32);
  args.output = dense(DType::kF32, {2, 8, 4, 10});
  EXPECT_FALSE(is_taken(ConvPass::kGradInput, args));
  args = usual(DType::kF32);
  args.window.padding[0] = int64_t{1} << 31;
  EXPECT_FALSE(is_taken(ConvPass::kForward, args));
}

TEST(DnnProblem, AddsToResultsOfFp32AndBiasesOfTheForwardPass) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const bool is_wide = dtype == DType::kF32;
    ConvArgs adds = usual(dtype);
    adds.store = Store::kAdd;
    EXPECT_EQ(is_taken(ConvPass::kGradWeight, adds), is_wide);
    ConvArgs forward = usual(dtype);
    forward.bias = bias_of(dtype, 8);
    EXPECT_TRUE(is_taken(ConvPass::kForward, forward));
    forward.bias = bias_of(is_wide ? DType::kF16 : DType::kF32, 8);
    EXPECT_FALSE(is_taken(ConvPass::kForward, forward));
    forward.bias = bias_of(dtype, 8, 2);
    EXPECT_FALSE(is_taken(ConvPass::kForward, forward));
    ConvArgs transposed = usual(dtype);
    transposed.bias = bias_of(DType::kBF16, 6, 2);
    EXPECT_EQ(is_taken(ConvPass::kGradInput, transposed), is_wide);
  }
}

DnnFound good(DnnAlgorithm algorithm) {
  return {.algorithm = algorithm,
          .status = DnnStatus::kSuccess,
          .time = 1,
          .memory = 0,
          .determinism = DnnDeterminism::kDeterministic,
          .math = DnnMath::kDefault,
          .reserved = {}};
}

TEST(DnnProblem, TakesAlgorithmsThatAddProductsInOrder) {
  for (int algorithm = 0; algorithm < 8; ++algorithm) {
    const DnnFound found = good(static_cast<DnnAlgorithm>(algorithm));
    EXPECT_EQ(is_exact({.pass = ConvPass::kForward}, found), algorithm <= 2) << algorithm;
    EXPECT_EQ(is_exact({.pass = ConvPass::kForward, .has_bias = true}, found), algorithm == 1) << algorithm;
    EXPECT_EQ(is_exact({.pass = ConvPass::kGradInput}, found), algorithm == 1) << algorithm;
    EXPECT_EQ(is_exact({.pass = ConvPass::kGradWeight}, found), algorithm == 1) << algorithm;
  }
}

TEST(DnnProblem, TakesNoAlgorithmThatFailsVariesOrRounds) {
  const DnnProblem exact = {.pass = ConvPass::kGradInput, .math = DnnMath::kFma};
  const DnnProblem half = {.pass = ConvPass::kGradInput, .type = DnnType::kHalf, .math = DnnMath::kTensor};
  DnnFound found = good(DnnAlgorithm::kGradInputImplicit);
  EXPECT_TRUE(is_exact(exact, found));
  found.math = DnnMath::kTensor;
  EXPECT_FALSE(is_exact(exact, found));
  EXPECT_TRUE(is_exact(half, found));
  found.math = DnnMath::kConvert;
  EXPECT_FALSE(is_exact(half, found));
  found = good(DnnAlgorithm::kGradInputImplicit);
  found.determinism = DnnDeterminism::kNone;
  EXPECT_FALSE(is_exact(exact, found));
  found = good(DnnAlgorithm::kGradInputImplicit);
  found.status = DnnStatus::kNotSupported;
  EXPECT_FALSE(is_exact(exact, found));
}

}  // namespace
}  // namespace halftone::cuda
