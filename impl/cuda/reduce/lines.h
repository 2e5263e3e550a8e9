// Kernels that go along one dimension, one element after the other. A line is all elements along the dimension. Where
// adjacent elements of a line are close in memory, a warp reads 32 of them at a time into shared memory;
// elsewhere each thread takes a line of its own.
#pragma once

#include "cuda/base/launch.h"
#include "cuda/reduce/fold.h"

namespace halftone::cuda {

// N views of one shape, with the lines along one dimension.
template <int N>
struct LineSet {
  Places<N + 1> starts;  // the last view is not used
  Operands<N> views;
  int64_t strides[N];
  int64_t length = 1;
  bool by_columns = false;

  HALFTONE_DEVICE int64_t place(const Offsets<N + 1>& start, int view, int64_t i) const {
    return start.at[view] + i * strides[view];
  }
};

template <int N>
LineSet<N> line_set(const View* const (&views)[N], int dim) {
  View starts = *views[0];
  if (starts.rank() > 0) starts.shape[dim] = 1;
  const Geometry<N, 1> geometry = geometry_of(views, {static_cast<const View*>(&starts)});
  LineSet<N> lines = {.starts = geometry.outputs, .views = detail::operands_of(views), .strides = {}};
  if (geometry.terms.rank == 0) return lines;
  for (int v = 0; v < N; ++v) lines.strides[v] = geometry.terms.strides[v][0];
  lines.length = geometry.terms.count;
  lines.by_columns = is_by_columns(geometry);
  return lines;
}

// Shared memory of the caller's warp for T[rows][32]. REQUIRES: at most kThreads threads.
template <class T, int rows>
HALFTONE_DEVICE inline T* tile_of_warp() {
  __shared__ T tiles[kThreads * rows];
  return tiles + threadIdx.x / kWarp * (kWarp * rows);
}

// A thread or a warp for each line.
template <int N>
Grid grid_for_lines(const DeviceState& device, const LineSet<N>& lines) {
  return grid_for_items(device, lines.starts.count * (lines.by_columns ? 1 : kWarp));
}

}  // namespace halftone::cuda
