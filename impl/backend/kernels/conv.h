// Convolution in two dimensions: forward and both gradients.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// The movement of a window over the planes of an image: {height, width} each.
struct ConvWindow {
  int64_t stride[2] = {1, 1};
  int64_t padding[2] = {0, 0};
  int64_t dilation[2] = {1, 1};
};

// kForward writes output. kGradInput reads the output's gradient from output and writes the gradient to input.
// kGradWeight reads output and input and writes weight.
enum class ConvPass : int32_t { kForward, kGradInput, kGradWeight };

// output[n, o, y, x] = sum over c, i, j of the channels c of o's group of
//   weight[o, c, i, j] * input[n, c, y * stride + i * dilation - padding, ...]; elements outside of input count as 0.
struct ConvArgs {
  View input;      // [n, groups * c, h, w]
  View weight;     // [groups * o, c, kh, kw]
  View output;     // [n, groups * o, oh, ow], with the sizes that the window gives
  View bias = {};  // [channels of the tensor that is written], added to it; null for none, always null for kGradWeight
  ConvWindow window = {};
  int64_t groups = 1;
  Store store = Store::kWrite;  // only kGradWeight may add
};

// f64 needs every view f64. Otherwise views are f32, f16 or bf16 in any mixture; products accumulate in FP32 and are
// rounded once, when the result is stored. A view that is read may have any strides, except weight, which is
// contiguous. A view that is written is contiguous, except weight, which may have any strides. No size is 0, except n.
struct ConvKernels {
  // Bytes of scratch that `run` needs for these arguments.
  size_t (*workspace)(Stream&, ConvPass pass, const ConvArgs& args) noexcept;
  Status (*run)(Stream&, ConvPass pass, const ConvArgs& args, void* workspace) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_CONV_ENTRIES(X) \
  X(ConvKernels, workspace)      \
  X(ConvKernels, run)

}  // namespace halftone
