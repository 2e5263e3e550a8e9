// Convolution in two dimensions: forward and both of its gradients.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// How a window moves over the planes of an image; height, then width.
struct ConvWindow {
  int64_t stride[2] = {1, 1};
  int64_t padding[2] = {0, 0};
  int64_t dilation[2] = {1, 1};
};

// kForward writes output, kGradInput reads a gradient of the output from output and writes input, kGradWeight reads
// both and writes weight.
enum class ConvPass : int32_t { kForward, kGradInput, kGradWeight };

// output[n, o, y, x] = sum over c, i, j of the channels c of o's group of
//   weight[o, c, i, j] * input[n, c, y * stride + i * dilation - padding, ...], what lies outside of input being 0.
struct ConvArgs {
  View input;      // [n, groups * c, h, w]
  View weight;     // [groups * o, c, kh, kw]
  View output;     // [n, groups * o, oh, ow], sizes as the window gives them
  View bias = {};  // [channels of what is written], added to it; null where there is none, as always for kGradWeight
  ConvWindow window = {};
  int64_t groups = 1;
  Store store = Store::kWrite;  // kGradWeight alone may add
};

// f64 needs every view f64. Otherwise views are f32, f16 or bf16 in any mixture; products accumulate in FP32 and are
// rounded once, when the result is stored. What is read may have any strides but for weight, which is contiguous; so is
// what is written, but for weight. No view has a size of 0 beside n, and n may be 0.
struct ConvKernels {
  // Bytes of scratch that `run` needs for these arguments.
  size_t (*workspace)(Stream&, ConvPass pass, const ConvArgs& args) noexcept;
  Status (*run)(Stream&, ConvPass pass, const ConvArgs& args, void* workspace) noexcept;
};

}  // namespace halftone
