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

constexpr int kRefused = -1;

// The count of copies that cuDNN needs, or kRefused.
int copies_of(ConvPass pass, const ConvArgs& args) {
  DnnProblem problem;
  DnnCopies copies;
  return describe(pass, args, false, &problem, &copies) ? copies.count : kRefused;
}

DnnProblem problem_of(ConvPass pass, const ConvArgs& args, bool allows_tf32 = false) {
  DnnProblem problem;
  DnnCopies copies;
  EXPECT_TRUE(describe(pass, args, allows_tf32, &problem, &copies));
  return problem;
}

alignas(16) int32_t memory[64] = {};  // of a bias
View bias_of(DType dtype, int64_t count, int64_t stride = 1) {
  return {.data = memory, .dtype = dtype, .shape = {count}, .strides = {stride}};
}

constexpr ConvPass kAll[] = {ConvPass::kForward, ConvPass::kGradInput, ConvPass::kGradWeight};

TEST(DnnProblem, HasTheSizesOfTheConvolution) {
  const DnnProblem problem = problem_of(ConvPass::kGradWeight, usual(DType::kBF16));
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
  const ConvArgs args = usual(DType::kF32);
  EXPECT_EQ(problem_of(ConvPass::kForward, args).math, DnnMath::kFma);
  EXPECT_EQ(problem_of(ConvPass::kForward, args, true).math, DnnMath::kDefault);
  EXPECT_EQ(problem_of(ConvPass::kForward, usual(DType::kF16)).math, DnnMath::kTensor);
  EXPECT_NE(problem_of(ConvPass::kForward, args), problem_of(ConvPass::kForward, args, true));
}

// TF32 holds what was a number of 16 bits.
TEST(DnnProblem, WidensOperandsForResultsOfFp32) {
  for (const ConvPass pass : kAll) {
    ConvArgs args = usual(DType::kBF16);
    (args.*result_of(pass)).dtype = DType::kF32;
    EXPECT_EQ(copies_of(pass, args), 2);
    EXPECT_EQ(problem_of(pass, args).type, DnnType::kFloat);
    EXPECT_EQ(problem_of(pass, args).math, DnnMath::kDefault);
    View& operand = pass == ConvPass::kForward ? args.input : args.output;
    operand.dtype = DType::kF32;
    EXPECT_EQ(copies_of(pass, args), 1);
    EXPECT_EQ(problem_of(pass, args).math, DnnMath::kFma);
  }
}

TEST(DnnProblem, RoundsNoOperandToTheResultsDtype) {
  for (const ConvPass pass : kAll) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) EXPECT_EQ(copies_of(pass, usual(dtype)), 0);
    EXPECT_EQ(copies_of(pass, usual(DType::kF64)), kRefused);
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      ConvArgs mixed = usual(dtype);
      (mixed.*result_of(pass)).dtype = DType::kBF16;
      EXPECT_EQ(copies_of(pass, mixed), kRefused);
    }
  }
}

TEST(DnnProblem, NeedsADenseAlignedResultAndCopiesOtherOperands) {
  for (const ConvPass pass : kAll) {
    for (const ConvView view : {&ConvArgs::input, &ConvArgs::weight, &ConvArgs::output}) {
      const int expected = view == result_of(pass) ? kRefused : 1;
      ConvArgs args = usual(DType::kF16);
      (args.*view).strides[0] += 1;
      EXPECT_EQ(copies_of(pass, args), expected);
      args = usual(DType::kF16);
      (args.*view).data = reinterpret_cast<void*>(uintptr_t{0x1008});
      EXPECT_EQ(copies_of(pass, args), expected);
      (args.*view).data = reinterpret_cast<void*>(uintptr_t{0x1010});
      EXPECT_EQ(copies_of(pass, args), 0);
    }
  }
}

TEST(DnnProblem, NeedsElementsThatAnIntCounts) {
  for (const ConvPass pass : kAll) {
    for (const int64_t images : {int64_t{0}, int64_t{1} << 22}) {
      ConvArgs args = usual(DType::kF16);
      args.input = dense(DType::kF16, {images, 6, 9, 11});
      args.output = dense(DType::kF16, {images, 8, 4, 11});
      EXPECT_EQ(copies_of(pass, args), kRefused);
    }
  }
}

// Beyond a stride the padding of a transposed convolution's output leaves windows without a position.
TEST(DnnProblem, NeedsAPositionForEachWindow) {
  ConvArgs args = usual(DType::kF32);
  args.output = dense(DType::kF32, {2, 8, 4, 10});
  EXPECT_EQ(copies_of(ConvPass::kGradInput, args), kRefused);
  args = usual(DType::kF32);
  args.window.padding[0] = int64_t{1} << 31;
  EXPECT_EQ(copies_of(ConvPass::kForward, args), kRefused);
}

TEST(DnnProblem, AddsToResultsOfFp32AndBiasesOfTheForwardPass) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const bool is_wide = dtype == DType::kF32;
    ConvArgs adds = usual(dtype);
    adds.store = Store::kAdd;
    EXPECT_EQ(copies_of(ConvPass::kGradWeight, adds), is_wide ? 0 : kRefused);
    ConvArgs forward = usual(dtype);
    forward.bias = bias_of(dtype, 8);
    EXPECT_EQ(copies_of(ConvPass::kForward, forward), 0);
    forward.bias = bias_of(is_wide ? DType::kF16 : DType::kF32, 8);
    EXPECT_EQ(copies_of(ConvPass::kForward, forward), is_wide ? 1 : kRefused);
    forward.bias = bias_of(dtype, 8, 2);
    EXPECT_EQ(copies_of(ConvPass::kForward, forward), 1);
    ConvArgs transposed = usual(dtype);
    transposed.bias = bias_of(DType::kBF16, 6, 2);
    EXPECT_EQ(copies_of(ConvPass::kGradInput, transposed), is_wide ? 0 : kRefused);
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
