// The patches that a window reads as the rows of a matrix, and the same way back. Moved as they are, row by row of an
// image; pure functions, any thread.
#pragma once

#include <cstdint>

#include "backend/cpu/conv/blocks.h"
#include "backend/kernels.h"

namespace halftone::cpu {

// A window over the planes of one group. One position (y, x) of it reads `taps` elements:
//   (c, i, j): plane c at (y * stride + i * dilation - padding, x * ...).
struct Patches {
  View planes;  // [n, c, h, w]
  int64_t kernel[2];
  ConvWindow window;
  int64_t row_width;  // positions x

  int64_t taps() const { return planes.shape[1] * kernel[0] * kernel[1]; }
};

// The distance of rows of a gathered matrix: whole cache lines, with one to spare, into which rows may be written on
// beyond their end, and no multiple of 2 KiB.
constexpr int64_t padded_columns(int64_t columns) { return (columns + 31) / 32 * 32 + 32; }

// out [taps, columns of the block], rows `row_stride` apart, in the planes' dtype; 0 where the window leaves the plane.
void gather_patches(const Patches& patches, const Block& block, int64_t row_stride, void* out) noexcept;

// planes[...] += in [taps, columns of the block]: what gather_patches reads, added back, in the order of in's rows.
// Planes are contiguous and of in's dtype, f32 or f64; their image 0 is the block's first.
void scatter_patches(const Patches& patches, const Block& block, int64_t row_stride, const void* in) noexcept;

}  // namespace halftone::cpu
