// The indices of running maxima and minima.
#include "backend/kernels/reduce.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/lines.h"

namespace halftone::cuda {
namespace {

constexpr int kIn = 0;
constexpr int kOut = 1;

// The largest or smallest element so far, with its index.
template <class C>
struct Best {
  C element;
  int64_t index = -1;  // of none

  // A NaN stays until another one follows.
  HALFTONE_DEVICE void see(bool is_max, C next, int64_t i) {
    const bool takes_over = index < 0 || next != next || (is_max ? next >= element : next <= element);
    if (!takes_over) return;
    element = next;
    index = i;
  }
};

// Along one line by one thread.
template <class C>
HALFTONE_DEVICE void run_alone(const LineSet<2>& lines, const Offsets<3>& start, bool is_max) {
  Best<C> best = {};
  for (int64_t i = 0; i < lines.length; ++i) {
    best.see(is_max, load<C>(lines.views.at[kIn], lines.place(start, kIn, i)), i);
    store<int64_t>(lines.views.at[kOut], lines.place(start, kOut, i), best.index);
  }
}

// Along one line by a warp: every lane runs through all elements, and keeps the index at its own.
template <class C>
HALFTONE_DEVICE void run_together(const LineSet<2>& lines, const Offsets<3>& start, bool is_max) {
  C* const tile = tile_of_warp<C, 1>();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Best<C> best = {};
  for (int64_t first = 0; first < lines.length; first += kWarp) {
    const bool exists = first + lane < lines.length;
    if (exists) tile[lane] = load<C>(lines.views.at[kIn], lines.place(start, kIn, first + lane));
    __syncwarp();
    const int count = static_cast<int>(lines.length - first < kWarp ? lines.length - first : kWarp);
    int64_t here = 0;
    for (int k = 0; k < count; ++k) {
      best.see(is_max, tile[k], first + k);
      if (k == lane) here = best.index;
    }
    __syncwarp();
    if (exists) store<int64_t>(lines.views.at[kOut], lines.place(start, kOut, first + lane), here);
  }
}

template <class C>
HALFTONE_KERNEL run_kernel(LineSet<2> lines, bool is_max) {
  const int threads = lines.by_columns ? 1 : kWarp;
  for (int64_t line = first_item() / threads; line < lines.starts.count; line += item_step() / threads) {
    const Offsets<3> start = offsets_at(lines.starts, line);
    if (lines.by_columns) {
      run_alone<C>(lines, start, is_max);
    } else {
      run_together<C>(lines, start, is_max);
    }
  }
}

}  // namespace

Status cumulative_index_of(Stream& stream, MinMax which, const View& in, int dim, const View& out) noexcept {
  if (in.numel() == 0) return {};
  const LineSet<2> lines = line_set({&in, &out}, dim);
  return with_compute_type(in.dtype, [&]<class C>() {
    return launch(stream, grid_for_lines(device_of(stream), lines), run_kernel<C>, lines, which == MinMax::kMax);
  });
}

}  // namespace halftone::cuda
