// Gathers the patches that a window reads into the rows of a matrix (im2col), and adds them back (col2im). Bits are
// copied, row by row of an image. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "backend/kernels/kernels.h"
#include "cpu/conv/blocks.h"

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

// The row stride of a gathered matrix: whole cache lines and at least one to spare, which a row's copy may write into.
// The spare line also keeps rows whose length is a multiple of 2 KiB out of each other's cache sets.
constexpr int64_t padded_columns(int64_t columns) { return (columns + 31) / 32 * 32 + 32; }

// out [taps, columns of the block] with rows `row_stride` apart, in the planes' dtype; 0 where the window is outside
// the plane.
void gather_patches(const Patches& patches, const Block& block, int64_t row_stride, void* out) noexcept;

// The reverse of gather_patches: planes[...] += in [taps, columns of the block], in the order of in's rows. Planes are
// contiguous, have in's dtype (f32 or f64), and begin with the block's first image.
void scatter_patches(const Patches& patches, const Block& block, int64_t row_stride, const void* in) noexcept;

}  // namespace halftone::cpu
