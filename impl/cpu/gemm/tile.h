// The arguments of one microkernel call, FP32 or dot product. Plain data, any thread.
#pragma once

#include <cstdint>

namespace halftone::cpu {

// c [rows, vectors of lanes] = a [rows, depth] * b [depth, vectors of lanes], added to c if `add`. Rows of b and c are
// contiguous; a has any strides. Elements of a and b are 32-bit words: one FP32, or a pair of BF16 for dot products.
struct TileArgs {
  const float* a;
  int64_t a_row_stride;
  int64_t a_depth_stride;
  const float* b;
  int64_t b_depth_stride;
  int64_t depth;
  float* c;
  int64_t c_row_stride;
  bool add;
};

using TileFunction = void (*)(const TileArgs&);

}  // namespace halftone::cpu
