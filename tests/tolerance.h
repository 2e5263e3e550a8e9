// How far a kernel's result may lie from a reference computed in double: the one place where tests take tolerances
// from.
#pragma once

#include <cmath>

#include "core/dtype.h"

namespace halftone {

struct Tolerance {
  double relative;
  double absolute;
};

// For one pass of arithmetic in the compute type (FP32; f64: double) with inputs and results of about 1, rounded once
// into `dtype`: half a step of the format, a few steps of the compute type, and half the smallest subnormal.
constexpr Tolerance tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {0x1p-49, 0x1p-49};
    case DType::kF32:
      return {0x1p-21, 0x1p-21};
    case DType::kF16:
      return {0x1p-11 + 0x1p-21, 0x1p-21};
    case DType::kBF16:
      return {0x1p-8 + 0x1p-21, 0x1p-21};
    case DType::kF8E4M3:
      return {0x1p-4 + 0x1p-21, 0x1p-10};
    case DType::kF8E5M2:
      return {0x1p-3 + 0x1p-21, 0x1p-17};
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return {0, 0};
  }
  return {0, 0};
}

// NaN is close to NaN alone, an infinity to itself alone. `growth` widens the tolerance where a result comes of many
// operations.
inline bool is_close(double actual, double expected, DType dtype, double growth = 1) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  const Tolerance limit = tolerance(dtype);
  return std::fabs(actual - expected) <= growth * (limit.relative * std::fabs(expected) + limit.absolute);
}

}  // namespace halftone
