// The elements that a convolution's window reads. Plain data, any thread.
#pragma once

#include <cstdint>

#include "backend/kernels/kernels.h"

namespace halftone::cpu {

// A window over the planes of one group. At position (y, x) it reads `taps` elements:
//   (c, i, j): plane c at (y * stride + i * dilation - padding, x * ...).
struct Patches {
  View planes;  // [n, c, h, w]
  int64_t kernel[2];
  ConvWindow window;
  int64_t row_width;  // positions x

  int64_t taps() const { return planes.shape[1] * kernel[0] * kernel[1]; }
};

}  // namespace halftone::cpu
