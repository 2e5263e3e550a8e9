// The scales of blocks as FP32, shared by the backends. Device-callable, pure.
#pragma once

#include "backend/block_scales.h"
#include "core/host_device.h"
#include "core/number/float8.h"
#include "core/number/scale8.h"

namespace halftone {

// REQUIRES: there are scales.
HALFTONE_HOST_DEVICE inline float scale_value(const BlockScales& scales, int64_t index) {
  if (scales.format == ScaleFormat::kE8M0) return static_cast<const ScaleE8M0*>(scales.data)[index];
  if (scales.format == ScaleFormat::kE4M3) return static_cast<const Float8E4M3*>(scales.data)[index];
  return static_cast<const float*>(scales.data)[index];
}

// The scale of element (row, column); 1 if there are none.
HALFTONE_HOST_DEVICE inline float scale_at(const BlockScales& scales, int64_t row, int64_t column) {
  if (scales.data == nullptr) return 1.0f;
  return scale_value(scales, row / scales.rows * scales.strides[0] + column / scales.columns * scales.strides[1]);
}

}  // namespace halftone
