// Pooling over windows of images: maxima, averages, and their gradients.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/kernels/conv.h"

namespace halftone {

// A window of `kernel` elements at output position (y, x) covers the input rows y * stride + i * dilation - padding,
// and columns likewise, that lie inside the input; the last window may reach beyond the padding. An adaptive window has
// no kernel: along each dimension position p of `count` covers [floor(p * size / count), ceil((p + 1) * size / count)).
struct PoolArgs {
  View input;         // [n, c, h, w]
  View output;        // [n, c, oh, ow], contiguous
  View indices = {};  // for maxima: i32, shaped as output; y * w + x in the plane, -1 if a window is empty
  int64_t kernel[2] = {0, 0};
  ConvWindow window = {};
  bool is_adaptive = false;
  bool counts_padding = false;  // averages: covered padding counts as zeros
};

// Input and output have one dtype: f64, f32, f16 or bf16. Sums are FP32 (f64: double) and add columns first. n may be
// 0. Backward reads the output's gradient from output and writes the input's gradient to input, contiguous f32 (for f64
// output: f64). Of maxima whose windows do not overlap, the input's gradient may also have output's dtype: an element
// has at most one gradient, so nothing is added that would need more bits.
struct PoolKernels {
  // The first of equal maxima is chosen. NaN counts as the largest; of several NaN in a window the last is chosen.
  Status (*max)(Stream&, const PoolArgs& args) noexcept;
  Status (*max_backward)(Stream&, const PoolArgs& args) noexcept;
  Status (*average)(Stream&, const PoolArgs& args) noexcept;
  Status (*average_backward)(Stream&, const PoolArgs& args) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_POOL_ENTRIES(X) \
  X(PoolKernels, max)            \
  X(PoolKernels, max_backward)   \
  X(PoolKernels, average)        \
  X(PoolKernels, average_backward)

}  // namespace halftone
