// Reductions over the threads of a warp and of a block. The order of the additions depends on the number of threads
// alone, so that results are bitwise equal in every run. Device code; all threads of the block call these functions.
#pragma once

#include "cuda/base/device_code.h"

namespace halftone::cuda {

inline constexpr int kMostWarps = 32;

template <class T>
struct Sum {
  HALFTONE_DEVICE T operator()(T a, T b) const { return a + b; }
};

// On every lane the reduction of the warp's values, as a butterfly: each lane adds in the same tree.
template <class T, class F>
HALFTONE_DEVICE inline T reduce_warp(T value, F combine) {
  for (int bits = kWarp / 2; bits > 0; bits /= 2) value = combine(value, __shfl_xor_sync(kAllLanes, value, bits));
  return value;
}

// On every thread the reduction of the block's values; `none` is the value of a warp that does not exist.
// REQUIRES: blockDim.x is a multiple of 32.
template <class T, class F>
HALFTONE_DEVICE inline T reduce_block(T value, T none, F combine) {
  __shared__ T of_warps[kMostWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = reduce_warp(value, combine);
  __syncthreads();  // a reduction before this one may still be read
  if (lane == 0) of_warps[warp] = value;
  __syncthreads();
  return reduce_warp(lane < warps ? of_warps[lane] : none, combine);
}

template <class T>
HALFTONE_DEVICE inline T sum_block(T value) {
  return reduce_block(value, T(0), Sum<T>());
}

}  // namespace halftone::cuda
