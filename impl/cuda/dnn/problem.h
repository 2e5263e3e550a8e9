// A convolution in the terms of cuDNN: three dense tensors of one dtype, in 32-bit sizes. Pure functions, safe from any
// thread.
#pragma once

#include <compare>
#include <cstdint>

#include "backend/kernels/conv.h"
#include "cuda/dnn/api.h"

namespace halftone::cuda {

struct DnnProblem {
  ConvPass pass = ConvPass::kForward;
  DnnType type = DnnType::kFloat;
  DnnMath math = DnnMath::kFma;  // that an algorithm may use at most
  int32_t input[4] = {};
  int32_t weight[4] = {};
  int32_t output[4] = {};
  int32_t padding[2] = {};
  int32_t stride[2] = {};
  int32_t dilation[2] = {};
  int32_t groups = 1;
  bool has_bias = false;  // for each channel of what is written
  bool adds = false;      // to what is there
  auto operator<=>(const DnnProblem&) const = default;
};

// Returns false for a convolution that cuDNN does not compute, or not as exactly as ConvArgs demands: mixed dtypes,
// f64, strides, misaligned memory, no images, tensors beyond 2^31 - 1 elements, and results of 16 bits to which
// something is added, except a bias in the forward pass. `allows_tf32`: products of FP32 operands may round them.
bool describe(ConvPass pass, const ConvArgs& args, bool allows_tf32, DnnProblem* out) noexcept;

// True if an algorithm adds in FP32, in an order that is always the same, and rounds nothing that `problem` forbids.
bool is_exact(const DnnProblem& problem, const DnnFound& found) noexcept;

}  // namespace halftone::cuda
