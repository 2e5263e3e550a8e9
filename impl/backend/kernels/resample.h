// Kernels that change the size of images.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// kNearest copies elements. kLinear weighs the two neighbours along each dimension, kCubic four (formula/cubic.h).
enum class ResampleMode : int32_t { kNearest, kLinear, kCubic };

// Position p of `count` along a dimension of `size` elements is at
//   nearest: floor(p * size / count), exactly
//   linear: (p + 1/2) * size / count - 1/2, at least 0
//   linear with aligned corners: p * (size - 1) / (count - 1), 0 if count is 1
// and the neighbours of a place are its floor and the next element, if there is one.
struct ResampleArgs {
  View input;   // [n, c, h, w]
  View output;  // [n, c, oh, ow], contiguous
  ResampleMode mode = ResampleMode::kNearest;
  bool aligns_corners = false;
};

// Input and output have one dtype: f64, f32, f16 or bf16. Places are exact, products are FP32 (f64: double). n and c
// may be 0, the other sizes may not. Backward reads the output's gradient from output and writes the input's gradient
// to input, contiguous f32 (for f64 output: f64); it adds in the order of the output's elements.
struct ResampleKernels {
  Status (*forward)(Stream&, const ResampleArgs& args) noexcept;
  Status (*backward)(Stream&, const ResampleArgs& args) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_RESAMPLE_ENTRIES(X) \
  X(ResampleKernels, forward)        \
  X(ResampleKernels, backward)

}  // namespace halftone
