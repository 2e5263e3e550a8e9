// How many elements of a tensor are at the end of their dtype's range, from its summary. Pure functions, safe from any
// thread.
#pragma once

#include <limits>

#include "backend/formula/tensor_summary.h"

namespace halftone::analysis {

// The largest finite number of a float dtype; infinity for f64, whose numbers beyond FP32's range count as infinite.
constexpr float largest_finite(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504.0f;
    case DType::kBF16:
      return 0x1.fep127f;
    case DType::kF8E4M3:
      return 448.0f;
    case DType::kF8E5M2:
      return 57344.0f;
    case DType::kF32:
      return 0x1.fffffep127f;
    default:
      return std::numeric_limits<float>::infinity();
  }
}

// The infinite elements, and if there is an element with the dtype's largest number, all of its exponent: a summary
// does not tell them apart.
inline int64_t saturated_elements(const TensorSummary& summary, DType dtype) {
  const uint32_t largest = magnitude_of(largest_finite(dtype));
  const bool reaches_end = summary.extremes.largest == largest;
  return summary.extremes.infinities + (reaches_end ? summary.exponents[largest >> 23] : 0);
}

}  // namespace halftone::analysis
