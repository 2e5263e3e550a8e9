#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/cumulative_product_backward.cpp"
#include <algorithm>

#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Views with the lines along the last dimension.
struct Lines {
  Layout grad, in, products, grad_in;
  int64_t length;
};

// Element i is a factor of all products from i on: its gradient is p[i-1] s[i], where p are the running products and
// s[i] = g[i] + x[i+1] s[i+1] adds up the gradients g of the later products with their remaining factors. Nothing is
// divided, so elements of 0 need no case of their own. Runs from the end of a line, a tile at a time.
class LineGradient {
 public:
  explicit LineGradient(const Lines& lines)
      : length_(lines.length), grad_(lines.grad), in_(lines.in), products_(lines.products), grad_in_(lines.grad_in) {}

  void run(int64_t line) {
    const int64_t begin = line * length_;
    double later = 0;   // s[i+1]
    double factor = 0;  // x[i+1]
    for (int64_t end = length_; end > 0; end -= std::min(kTileSize<double>, end)) {
      const int64_t count = std::min(kTileSize<double>, end);
      const int64_t first = end - count;
      read_products_before(begin, first, count);
      const double* grad = grad_.read(begin + first, count);
      const double* x = in_.read(begin + first, count);
      double* out = grad_in_.tile(begin + first, count);
      for (int64_t i = count - 1; i >= 0; --i) {
        later = grad[i] + factor * later;
        factor = x[i];
        out[i] = before_[i] * later;
      }
      grad_in_.commit(begin + first, count);
    }
  }

 private:
  // p[i-1] for `count` elements of the line; 1 before its first one.
  void read_products_before(int64_t begin, int64_t first, int64_t count) {
    if (first > 0) return products_.read_into(begin + first - 1, count, before_);
    before_[0] = 1;
    if (count > 1) products_.read_into(begin, count - 1, before_ + 1);
  }

  int64_t length_;
  TileReader<double> grad_, in_, products_;
  TileWriter<double> grad_in_;
  alignas(64) double before_[kTileSize<double>];
};

}  // namespace

void product_gradients(ThreadPool& pool, const View* views, int dim) {
  const int64_t length = views[1].rank() > 0 ? views[1].shape[dim] : 1;
  const Lines lines = {Layout(with_last(views[0], dim)), Layout(with_last(views[1], dim)),
                       Layout(with_last(views[2], dim)), Layout(with_last(views[3], dim)), length};
  for_each_row_range(pool, views[1].numel() / length, length, [&](int64_t first, int64_t last) {
    LineGradient gradient(lines);
    for (int64_t line = first; line < last; ++line) gradient.run(line);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(product_gradients);

Status cumulative_product_backward(Stream& stream, const View& grad, const View& in, const View& products, int dim,
                                   const View& grad_in) noexcept {
  if (in.numel() == 0) return {};
  const View views[] = {grad, in, products, grad_in};
  HWY_DYNAMIC_DISPATCH(product_gradients)(pool_of(stream), views, dim);
  return {};
}

}  // namespace halftone::cpu
#endif
