// What tests allow a kernel's result to be away from a double-precision reference, per dtype of the result.
#pragma once

#include "core/dtype.h"

namespace halftone {

// Relative error of a short chain of operations in the compute type (f64: double, other floats: FP32) rounded once to
// the dtype: half a unit in the last place of 16-bit and smaller formats, a few units where the compute type is the
// dtype itself. Integers are exact. An absolute floor is the test's own matter.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-49;
    case DType::kF32:
      return 0x1p-21;
    case DType::kF16:
      return 0x1.02p-11;
    case DType::kBF16:
      return 0x1.01p-8;
    case DType::kF8E4M3:
      return 0x1.01p-4;
    case DType::kF8E5M2:
      return 0x1.01p-3;
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 0;
  }
  return 0;
}

}  // namespace halftone
