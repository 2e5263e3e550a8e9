// The tolerances of kernel results against a reference in double. All tests take their tolerances from here.
#pragma once

#include <cmath>

#include "core/dtype.h"

namespace halftone {

// Largest error of rounding to a dtype: half the distance of neighbours at 1, and half the smallest subnormal.
struct HalfStep {
  double relative;
  double smallest;
};

constexpr HalfStep half_step(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {0x1p-53, 0x1p-1074};
    case DType::kF32:
      return {0x1p-24, 0x1p-150};
    case DType::kF16:
      return {0x1p-11, 0x1p-25};
    case DType::kBF16:
      return {0x1p-8, 0x1p-134};
    case DType::kF8E4M3:
      return {0x1p-4, 0x1p-10};
    case DType::kF8E5M2:
      return {0x1p-3, 0x1p-17};
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

// The dtype of arithmetic whose result is `dtype`.
constexpr DType compute_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

struct Tolerance {
  double relative;
  double absolute;
};

// For one pass of arithmetic in the compute type with inputs and results of about 1, rounded once to `dtype`. The
// tolerance is half a unit of the format and a few units of the compute type, or half the smallest subnormal if that is
// more.
constexpr Tolerance tolerance(DType dtype) {
  if (!is_float(dtype)) return {0, 0};
  const double steps = (dtype == DType::kF64 ? 16 : 8) * half_step(compute_dtype(dtype)).relative;
  const bool is_computed_in = dtype == compute_dtype(dtype);
  const double relative = is_computed_in ? steps : half_step(dtype).relative + steps;
  return {relative, half_step(dtype).smallest > steps ? half_step(dtype).smallest : steps};
}

// NaN is close only to NaN, and an infinity only to itself. `growth` widens the tolerance for results of many
// operations.
inline bool is_close(double actual, double expected, DType dtype, double growth = 1) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  const Tolerance limit = tolerance(dtype);
  return std::fabs(actual - expected) <= growth * (limit.relative * std::fabs(expected) + limit.absolute);
}

// True if a result may come from an error of at most `slack` half units of the compute type at 1 and one rounding. NaN
// and infinities are treated as above; other dtypes than floats must be exact.
inline bool is_within(double actual, double expected, double slack, DType dtype) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual) || !is_float(dtype)) return actual == expected;
  const double error = slack * half_step(compute_dtype(dtype)).relative;
  const double rounding = half_step(dtype).relative * (std::fabs(expected) + error) + half_step(dtype).smallest;
  return std::fabs(actual - expected) <= error + rounding;
}

}  // namespace halftone
