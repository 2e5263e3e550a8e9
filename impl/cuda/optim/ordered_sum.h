// Sums of squares of tiles and chunks, in the order in which the CPU adds them, so that both have the same bits. Device
// code; all lanes of a warp call these functions.
#pragma once

#include "cuda/optim/tile.h"

namespace halftone::cuda {

// The rows of 32 elements in a tile.
inline constexpr int kRows = static_cast<int>(kBlockSize) / kWarp;

// On lane 0 the sum of value(i) for i < count, at most 256: lane by lane over rows of 32, then the lanes from the
// outside in.
template <class F>
HALFTONE_DEVICE inline double sum_of_tile(int count, F&& value) {
  const int lane = lane_of_thread();
  double sum = lane < count ? value(lane) : 0.0;
  for (int i = kWarp + lane; i < count; i += kWarp) sum += value(i);
  for (int left = count < kWarp ? count : kWarp; left > 1;) {
    const int half = (left + 1) / 2;
    const double other = __shfl_down_sync(kAllLanes, sum, static_cast<unsigned>(half));
    if (lane < left - half) sum += other;
    left = half;
  }
  return sum;
}

// On every lane value(0) + ... + value(count - 1) after `sum`, one after the other; the lanes read 32 at a time.
template <class F>
HALFTONE_DEVICE inline double sum_in_order(double sum, int64_t count, F&& value) {
  __shared__ double tiles[kThreads];
  double* const tile = tiles + warp_of_thread() * kWarp;
  const int lane = lane_of_thread();
  for (int64_t first = 0; first < count; first += kWarp) {
    if (first + lane < count) tile[lane] = value(first + lane);
    __syncwarp();
    const int here = clamped_count(count - first, kWarp);
    for (int k = 0; k < here; ++k) sum += tile[k];
    __syncwarp();
  }
  return sum;
}

}  // namespace halftone::cuda
