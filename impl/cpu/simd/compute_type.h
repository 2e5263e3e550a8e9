// The three types that kernels compute in, and how many elements of one make a tile.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace halftone::cpu {

// f64 is computed in double, every other float in FP32, integers and bool in int64. Calls f.operator()<C>() and returns
// its result.
template <class F>
auto with_compute_type(DType dtype, F&& f) {
  if (dtype == DType::kF64) return f.template operator()<double>();
  if (is_float(dtype)) return f.template operator()<float>();
  return f.template operator()<int64_t>();
}

// 2 KiB, so that the three tiles of a binary op stay in L1 and far below the stack's limit.
template <class C>
inline constexpr int64_t kTileSize = 2048 / sizeof(C);

}  // namespace halftone::cpu
