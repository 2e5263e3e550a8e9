// Element i is a factor of all products from i on: its gradient is p[i-1] s[i], where p are the running products and
// s[i] = g[i] + x[i+1] s[i+1] adds up the gradients g of the later products with their remaining factors. Nothing is
// divided, so elements of 0 need no case of their own. Runs from the end of a line.
#include "cuda/reduce/entries.h"
#include "cuda/reduce/lines.h"

namespace halftone::cuda {
namespace {

// The views.
enum : int { kGrad, kIn, kProducts, kGradIn };
using LinesOfFour = LineSet<4>;

HALFTONE_DEVICE double element(const LinesOfFour& lines, const Offsets<5>& start, int view, int64_t i) {
  return load<double>(lines.views.at[view], lines.place(start, view, i));
}

// s[i] and x[i] of the element before.
struct Later {
  double sum = 0;
  double factor = 0;
  HALFTONE_DEVICE void take(double grad, double x) {
    sum = grad + factor * sum;
    factor = x;
  }
};

HALFTONE_DEVICE void store_gradient(const LinesOfFour& lines, const Offsets<5>& start, int64_t i, double sum) {
  const double before = i > 0 ? element(lines, start, kProducts, i - 1) : 1;
  store<double>(lines.views.at[kGradIn], lines.place(start, kGradIn, i), before * sum);
}

HALFTONE_DEVICE void run_alone(const LinesOfFour& lines, const Offsets<5>& start) {
  Later later;
  for (int64_t i = lines.length - 1; i >= 0; --i) {
    later.take(element(lines, start, kGrad, i), element(lines, start, kIn, i));
    store_gradient(lines, start, i, later.sum);
  }
}

HALFTONE_DEVICE void run_together(const LinesOfFour& lines, const Offsets<5>& start) {
  double* const grads = tile_of_warp<double, 2>();
  double* const factors = grads + kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Later later;
  for (int64_t end = lines.length; end > 0; end -= kWarp) {
    const int64_t i = end - 1 - lane;
    if (i >= 0) {
      grads[lane] = element(lines, start, kGrad, i);
      factors[lane] = element(lines, start, kIn, i);
    }
    __syncwarp();
    double own = 0;
    for (int k = 0; k < (end < kWarp ? end : kWarp); ++k) {
      later.take(grads[k], factors[k]);
      if (k == lane) own = later.sum;
    }
    __syncwarp();
    if (i >= 0) store_gradient(lines, start, i, own);
  }
}

HALFTONE_KERNEL gradient_kernel(LinesOfFour lines) {
  const int threads = lines.by_columns ? 1 : kWarp;
  for (int64_t line = first_item() / threads; line < lines.starts.count; line += item_step() / threads) {
    const Offsets<5> start = offsets_at(lines.starts, line);
    if (lines.by_columns) {
      run_alone(lines, start);
    } else {
      run_together(lines, start);
    }
  }
}

}  // namespace

Status cumulative_product_backward(Stream& stream, const View& grad, const View& in, const View& products, int dim,
                                   const View& grad_in) noexcept {
  if (in.numel() == 0) return {};
  const LinesOfFour lines = line_set({&grad, &in, &products, &grad_in}, dim);
  return launch(stream, grid_for_lines(device_of(stream), lines), gradient_kernel, lines);
}

}  // namespace halftone::cuda
