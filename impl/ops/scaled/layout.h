// The layouts of scaled tensors: which elements of a matrix share a scale, and the shapes and dtypes of codes and
// scales. Pure functions.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/number/number_format.h"
#include "core/shape.h"

namespace halftone::ops {

// Must match htone_scale_layout.
enum class ScaleLayout : int32_t {
  kTensor = 1,        // one f32, scales are []
  kRow = 2,           // f32 [rows, 1]
  kBlock1x128 = 3,    // f32, a power of two
  kBlock128x128 = 4,  // f32, a power of two
  kMx1x32 = 5,        // E8M0 as u8
  kNv1x16 = 6,        // E4M3, under one f32 of the tensor
  kNv16x16 = 7,       // E4M3, under one f32 of the tensor
};
inline constexpr int32_t kScaleLayoutLast = 7;

constexpr bool is_nv(ScaleLayout layout) { return layout == ScaleLayout::kNv1x16 || layout == ScaleLayout::kNv16x16; }

// True where codes are read along the rows and, transposed, along the columns: a block is as high as wide.
constexpr bool has_square_blocks(ScaleLayout layout) {
  return layout == ScaleLayout::kTensor || layout == ScaleLayout::kBlock128x128 || layout == ScaleLayout::kNv16x16;
}

// Throws INVALID_ARGUMENT naming `argument` unless both are valid and the layout has codes of the format.
void require_format(ScaleLayout layout, NumberFormat format, const char* argument);

// The sizes of a block; those of the whole matrix or row for kTensor and kRow.
struct BlockSize {
  int64_t rows;
  int64_t columns;
};
BlockSize block_size(ScaleLayout layout, const Shape& matrix) noexcept;

// All dimensions but the last count rows. REQUIRES: at least one dimension.
Shape matrix_shape(const Shape& shape) noexcept;

DType code_dtype(NumberFormat format) noexcept;
// Codes as they are stored: two of E2M1 in a byte.
Shape code_shape(NumberFormat format, const Shape& shape) noexcept;
DType scale_dtype(ScaleLayout layout) noexcept;
Shape scale_shape(ScaleLayout layout, const Shape& matrix) noexcept;

}  // namespace halftone::ops
