// Gathers the patches that a window reads into the rows of a matrix (im2col), and adds them back (col2im). Bits are
// copied, row by row of an image. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "cpu/conv/blocks.h"
#include "cpu/conv/window_patches.h"

namespace halftone::cpu {

// The row stride of a gathered matrix: whole cache lines and at least one to spare, which a row's copy may write into.
// The spare line also keeps rows whose length is a multiple of 2 KiB out of each other's cache sets.
constexpr int64_t padded_columns(int64_t columns) { return (columns + 31) / 32 * 32 + 32; }

// out [taps, columns of the block] with rows `row_stride` apart, in the planes' dtype; 0 where the window is outside
// the plane.
void gather_patches(const Patches& patches, const Block& block, int64_t row_stride, void* out) noexcept;

// The reverse of gather_patches: planes[...] += in [taps, columns of the block], in the order of in's rows. Planes are
// contiguous, have in's dtype (f32 or f64), and begin with the block's first image. May overwrite `in` where the window
// is outside of the plane.
void scatter_patches(const Patches& patches, const Block& block, int64_t row_stride, void* in) noexcept;

}  // namespace halftone::cpu
