// Pooling over windows of images: maxima, averages, and their gradients.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/kernels/conv.h"

namespace halftone {

// A window of `kernel` elements at output position (y, x) covers input rows y * stride + i * dilation - padding and
// columns likewise, as far as they are inside; the last window may reach beyond the padding. An adaptive window has no
// kernel: along each dimension position p of `count` covers [floor(p * size / count), ceil((p + 1) * size / count)).
struct PoolArgs {
  View input;         // [n, c, h, w]
  View output;        // [n, c, oh, ow], contiguous
  View indices = {};  // of maxima: i32, as output; y * w + x in the plane, -1 where a window is empty
  int64_t kernel[2] = {0, 0};
  ConvWindow window = {};
  bool is_adaptive = false;
  bool counts_padding = false;  // averages: what a window covers of the padding counts as zeros
};

// Input and output have one dtype, f64, f32, f16 or bf16; sums are FP32 (f64: double), of columns first. n may be 0.
// Backwards read output as its gradient and write input as its gradient, which is contiguous f32 (for f64 output: f64).
struct PoolKernels {
  // The first of equal maxima; NaN counts as the largest, and the last one of a window as its maximum.
  Status (*max)(Stream&, const PoolArgs& args) noexcept;
  Status (*max_backward)(Stream&, const PoolArgs& args) noexcept;
  Status (*average)(Stream&, const PoolArgs& args) noexcept;
  Status (*average_backward)(Stream&, const PoolArgs& args) noexcept;
};

}  // namespace halftone
