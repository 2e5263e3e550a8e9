#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/lines.h"

namespace halftone::cuda {
namespace {

// Floats run in double.
template <class C>
using Running = std::conditional_t<std::is_integral_v<C>, int64_t, double>;

constexpr int kIn = 0;
constexpr int kOut = 1;

// Along one line by one thread.
template <class Combine, class C>
HALFTONE_DEVICE void run_alone(const LineSet<2>& lines, const Offsets<3>& start, bool from_end) {
  Running<C> result = Combine::template none<Running<C>>();
  for (int64_t first = 0; first < lines.length; first += kBatch) {
    int64_t in[kBatch];
    int64_t out[kBatch];
    C values[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int64_t i = first + k < lines.length ? first + k : lines.length - 1;
      in[k] = lines.place(start, kIn, from_end ? lines.length - 1 - i : i);
      out[k] = lines.place(start, kOut, from_end ? lines.length - 1 - i : i);
    }
    load_at(lines.views.at[kIn], in, values);
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      if (first + k >= lines.length) break;
      result = Combine::of(result, static_cast<Running<C>>(values[k]));
      store<C>(lines.views.at[kOut], out[k], static_cast<C>(result));
    }
  }
}

// Along one line by a warp: every lane runs through all elements, and keeps the result at its own.
template <class Combine, class C>
HALFTONE_DEVICE void run_together(const LineSet<2>& lines, const Offsets<3>& start, bool from_end) {
  Running<C>* const tile = tile_of_warp<Running<C>, 1>();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Running<C> result = Combine::template none<Running<C>>();
  for (int64_t first = 0; first < lines.length; first += kWarp) {
    const bool exists = first + lane < lines.length;
    const int64_t i = from_end ? lines.length - 1 - first - lane : first + lane;
    if (exists) tile[lane] = static_cast<Running<C>>(load<C>(lines.views.at[kIn], lines.place(start, kIn, i)));
    __syncwarp();
    const int count = static_cast<int>(lines.length - first < kWarp ? lines.length - first : kWarp);
    Running<C> here = result;
    for (int k = 0; k < count; ++k) {
      result = Combine::of(result, tile[k]);
      if (k == lane) here = result;
    }
    __syncwarp();
    if (exists) store<C>(lines.views.at[kOut], lines.place(start, kOut, i), static_cast<C>(here));
  }
}

template <class Combine, class C>
HALFTONE_KERNEL run_kernel(LineSet<2> lines, bool from_end) {
  const int threads = lines.by_columns ? 1 : kWarp;
  for (int64_t line = first_item() / threads; line < lines.starts.count; line += item_step() / threads) {
    const Offsets<3> start = offsets_at(lines.starts, line);
    if (lines.by_columns) {
      run_alone<Combine, C>(lines, start, from_end);
    } else {
      run_together<Combine, C>(lines, start, from_end);
    }
  }
}

template <class Combine>
Status run(Stream& stream, const View& in, int dim, bool from_end, const View& out) {
  if (in.numel() == 0) return {};
  const LineSet<2> lines = line_set({&in, &out}, dim);
  return with_compute_type(out.dtype, [&]<class C>() {
    return launch(stream, grid_for_lines(device_of(stream), lines), run_kernel<Combine, C>, lines, from_end);
  });
}

}  // namespace

Status cumulative_sum(Stream& stream, const View& in, int dim, bool from_end, const View& out) noexcept {
  return run<Plus>(stream, in, dim, from_end, out);
}

Status cumulative_product(Stream& stream, const View& in, int dim, const View& out) noexcept {
  return run<Times>(stream, in, dim, false, out);
}

}  // namespace halftone::cuda
