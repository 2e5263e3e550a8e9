// One call of a microkernel, FP32 or dot product: what product-inl.h asks for and they answer. Plain data, any thread.
#pragma once

#include <cstdint>

namespace halftone::cpu {

// c [rows, vectors of lanes] = a [rows, depth] b [depth, vectors of lanes], or the same added to c; rows of b and c are
// contiguous, a has any strides. Elements of a and b are 32-bit words: an FP32, or for dot products a pair of BF16.
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
