// Scales of blocks of a matrix of codes, as kernels see them: the value of element (i, j) is its code times scale
// (i / rows, j / columns). Plain data, borrowed as a View is; formula/block_scale.h reads it.
#pragma once

#include <cstdint>

namespace halftone {

enum class ScaleFormat : int32_t {
  kF32,
  kF32Power,  // f32, each a power of two: BF16 holds their products with codes exactly
  kE8M0,
  kE4M3,
};

struct BlockScales {
  const void* data = nullptr;  // null: no scales
  ScaleFormat format = ScaleFormat::kF32;
  int64_t rows = 1;  // of a block, in elements of the matrix
  int64_t columns = 1;
  int64_t strides[2] = {};  // in scales
};

}  // namespace halftone
