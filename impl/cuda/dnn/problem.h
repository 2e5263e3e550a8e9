// A convolution in the terms of cuDNN: three dense tensors of one dtype, in 32-bit sizes. Other operands are copied
// first. Pure functions, safe from any thread.
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

// One of a convolution's tensors.
using ConvView = View ConvArgs::*;

// Operands that cuDNN reads from copies, which are dense and have the result's dtype.
struct DnnCopies {
  ConvView views[3] = {};
  int count = 0;
};

// Returns false for a convolution that cuDNN does not compute, or not as exactly as ConvArgs demands: f64, operands
// that would be rounded to the result's dtype, a result with strides or misaligned memory, no images, tensors beyond
// 2^31 - 1 elements, and results of 16 bits to which something is added, except a bias in the forward pass.
// `allows_tf32`: products of FP32 operands may round them.
bool describe(ConvPass pass, const ConvArgs& args, bool allows_tf32, DnnProblem* out, DnnCopies* copies) noexcept;

// The tensor that a pass writes.
ConvView result_of(ConvPass pass) noexcept;

// True if an algorithm adds in FP32, in an order that is always the same, and rounds nothing that `problem` forbids.
bool is_exact(const DnnProblem& problem, const DnnFound& found) noexcept;

}  // namespace halftone::cuda
