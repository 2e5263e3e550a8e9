// Scales of blocks of a matrix of codes, as kernels see them: the value of element (i, j) is its code times scale
// (i / rows, j / columns). Plain data, borrowed as a View is.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "core/number/float8.h"
#include "core/number/scale8.h"

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

  HALFTONE_HOST_DEVICE float value(int64_t index) const {
    if (format == ScaleFormat::kE8M0) return static_cast<const ScaleE8M0*>(data)[index];
    if (format == ScaleFormat::kE4M3) return static_cast<const Float8E4M3*>(data)[index];
    return static_cast<const float*>(data)[index];
  }
  // The scale of element (row, column); 1 if there are none.
  HALFTONE_HOST_DEVICE float at(int64_t row, int64_t column) const {
    return data == nullptr ? 1.0f : value(row / rows * strides[0] + column / columns * strides[1]);
  }
};

}  // namespace halftone
