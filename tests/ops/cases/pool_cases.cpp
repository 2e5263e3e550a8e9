// Maxima and averages over windows.
#include <algorithm>
#include <limits>

#include "calls.h"
#include "ops/pool/pool.h"
#include "terms.h"

namespace halftone {

namespace {

// The indices that a window covers in one dimension, including those in the padding.
using Span = std::function<std::vector<int64_t>(int64_t position)>;

struct Windows {
  int64_t count[2];
  Span span[2];
};

Windows windows_of(const Shape& image, const ops::PoolOptions& options) {
  Windows windows;
  for (int d = 0; d < 2; ++d) {
    const int64_t stride = options.window.stride[d], padding = options.window.padding[d];
    const int64_t dilation = options.window.dilation[d], kernel = options.kernel[d];
    const int64_t end = image[2 + d] + padding, left = end + padding - dilation * (kernel - 1) - 1;
    windows.count[d] = left / stride + 1;
    const bool is_cut = options.last_window == LastWindow::kCut && left % stride != 0;
    if (is_cut && windows.count[d] * stride < end) ++windows.count[d];
    windows.span[d] = [=](int64_t position) {
      std::vector<int64_t> indices;
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t index = position * stride + k * dilation - padding;
        if (index < end) indices.push_back(index);
      }
      return indices;
    };
  }
  return windows;
}

Windows adaptive_windows_of(const Shape& image, const int64_t (&counts)[2]) {
  Windows windows;
  for (int d = 0; d < 2; ++d) {
    const int64_t size = image[2 + d], count = counts[d];
    windows.count[d] = count;
    windows.span[d] = [=](int64_t position) {
      std::vector<int64_t> indices;
      for (int64_t k = position * size / count; k * count < (position + 1) * size; ++k) indices.push_back(k);
      return indices;
    };
  }
  return windows;
}

// Maps the elements inside the image and the size of the window with its padding to one result.
using Pool = Reduced (*)(const std::vector<double>& inside, int64_t size);

Array pooled(const Array& image, const Windows& windows, Pool pool) {
  const Shape& in = image.shape;
  Array out({in[0], in[1], windows.count[0], windows.count[1]});
  int64_t at = 0;
  for_each_index(out.shape, [&](const Shape& index) {
    const std::vector<int64_t> rows = windows.span[0](index[2]), columns = windows.span[1](index[3]);
    std::vector<double> inside;
    for (const int64_t y : rows) {
      for (const int64_t x : columns) {
        const bool is_inside = y >= 0 && y < in[2] && x >= 0 && x < in[3];
        if (is_inside) inside.push_back(image[place_of(in, {index[0], index[1], y, x})]);
      }
    }
    const Reduced one = pool(inside, static_cast<int64_t>(rows.size() * columns.size()));
    out[at++] = one.value;
    out.slack.push_back(one.slack);
  });
  return out;
}

Reduced largest_of(const std::vector<double>& inside, int64_t) {
  return {inside.empty() ? -std::numeric_limits<double>::infinity() : *std::max_element(inside.begin(), inside.end()),
          0};
}
Reduced average_with_padding(const std::vector<double>& inside, int64_t size) {
  Sum sum;
  for (const double value : inside) sum.add(value);
  return {sum.value() / static_cast<double>(size), sum.slack_in_order() / static_cast<double>(size)};
}
Reduced average_inside(const std::vector<double>& inside, int64_t) {
  return average_with_padding(inside, static_cast<int64_t>(inside.size()));
}

Array as_images(const Array& array) {
  if (array.shape.rank() != 3) return array;
  Array images({array.shape[0], array.shape[1], 1, array.shape[2]});
  images.values = array.values;
  return images;
}

template <class WindowsOf>
std::function<Arrays(const Arrays&)> pooled_by(WindowsOf windows, Pool pool) {
  return [=](const Arrays& in) {
    const Array images = as_images(in[0]);
    Array out = pooled(images, windows(images.shape), pool);
    if (in[0].shape.rank() == 3) out.shape = {out.shape[0], out.shape[1], out.shape[3]};
    return Arrays{out};
  };
}

using PoolCall = Tensor (*)(const Tensor&, const ops::PoolOptions&);

OpCase pool_case(Op op, const char* what, PoolCall call, const ops::PoolOptions& options, Pool pool) {
  const bool is_1d = op == Op::kMaxPool1d || op == Op::kAvgPool1d;
  const bool is_max = op == Op::kMaxPool1d || op == Op::kMaxPool2d;
  OpCase result = {.op = op,
                   .what = what,
                   .inputs = {{distinct()}},
                   .run = call_of_one([=](const Tensor& x) { return call(x, options); }),
                   .reference = pooled_by([=](const Shape& image) { return windows_of(image, options); }, pool),
                   .is_exact = is_max};
  if (is_1d) {
    result.shapes = {{{0, 2, 5}}, {{3, 5, 7}}, {{1, 1, 5}}, {{3, 5, 2305}}};
  } else {
    result.shapes = {{{0, 2, 5, 5}}, {{1, 3, 5, 7}}, {{3, 1, 7, 5}}, {{2, 3, 75, 77}}};
  }
  return result;
}

// Windows of one element, also for images of one element.
OpCase single_case(Op op, PoolCall call, Pool pool) {
  OpCase result = pool_case(op, "of single elements", call, {}, pool);
  const bool is_1d = op == Op::kMaxPool1d || op == Op::kAvgPool1d;
  result.shapes = {is_1d ? Shapes{{1, 1, 1}} : Shapes{{1, 1, 1, 1}}, is_1d ? Shapes{{1, 3, 5}} : Shapes{{1, 3, 5, 3}}};
  return result;
}

std::function<Tensor(const Tensor&)> adaptive_call(Op op, int64_t height, int64_t width) {
  if (op == Op::kAdaptiveAvgPool1d) return [=](const Tensor& x) { return ops::adaptive_avg_pool1d(x, width); };
  if (op == Op::kAdaptiveMaxPool1d) return [=](const Tensor& x) { return ops::adaptive_max_pool1d(x, width); };
  if (op == Op::kAdaptiveAvgPool2d) return [=](const Tensor& x) { return ops::adaptive_avg_pool2d(x, height, width); };
  return [=](const Tensor& x) { return ops::adaptive_max_pool2d(x, height, width); };
}

OpCase adaptive_case(Op op, int64_t height, int64_t width) {
  const bool is_1d = op == Op::kAdaptiveAvgPool1d || op == Op::kAdaptiveMaxPool1d;
  const bool is_max = op == Op::kAdaptiveMaxPool1d || op == Op::kAdaptiveMaxPool2d;
  OpCase result = {.op = op, .inputs = {{distinct()}}, .is_exact = is_max};
  result.run = call_of_one(adaptive_call(op, height, width));
  result.reference = pooled_by(
      [=](const Shape& image) {
        return adaptive_windows_of(image, {height, width});
      },
      is_max ? largest_of : average_inside);
  if (is_1d) {
    result.shapes = {{{0, 2, 5}}, {{1, 1, 1}}, {{3, 5, 7}}, {{1, 3, 5}}, {{3, 5, 2305}}};
  } else {
    result.shapes = {{{0, 2, 5, 5}}, {{1, 1, 1, 1}}, {{1, 3, 5, 7}}, {{3, 1, 7, 5}}, {{2, 3, 75, 77}}};
  }
  return result;
}

constexpr ops::PoolOptions kLine = {.kernel = {1, 3}, .window = {.stride = {1, 2}, .padding = {0, 1}}};
constexpr ops::PoolOptions kDilatedLine = {.kernel = {1, 3}, .window = {.padding = {0, 2}, .dilation = {1, 2}}};
constexpr ops::PoolOptions kImage = {.kernel = {2, 3}, .window = {.stride = {2, 1}, .padding = {1, 1}}};
constexpr ops::PoolOptions kDilatedImage = {.kernel = {3, 2}, .window = {.stride = {1, 3}, .dilation = {2, 1}}};

constexpr ops::PoolOptions kPairs = {.kernel = {2, 2}, .window = {.stride = {2, 2}}};

constexpr ops::PoolOptions without_padding(ops::PoolOptions options) {
  options.counts_padding = false;
  return options;
}
constexpr ops::PoolOptions with_cut_windows(ops::PoolOptions options) {
  options.last_window = LastWindow::kCut;
  return options;
}

}  // namespace

std::vector<OpCase> pool_cases() {
  return {
      pool_case(Op::kMaxPool1d, "strided", ops::max_pool1d, kLine, largest_of),
      pool_case(Op::kMaxPool1d, "dilated", ops::max_pool1d, kDilatedLine, largest_of),
      pool_case(Op::kMaxPool1d, "cut", ops::max_pool1d, with_cut_windows(kLine), largest_of),
      single_case(Op::kMaxPool1d, ops::max_pool1d, largest_of),
      pool_case(Op::kMaxPool2d, "strided", ops::max_pool2d, kImage, largest_of),
      pool_case(Op::kMaxPool2d, "side by side", ops::max_pool2d, kPairs, largest_of),
      pool_case(Op::kMaxPool2d, "dilated", ops::max_pool2d, kDilatedImage, largest_of),
      of_bytes(pool_case(Op::kMaxPool2d, "", ops::max_pool2d, kImage, largest_of), {{{0, 2, 5, 5}}, {{1, 3, 5, 7}}}),
      pool_case(Op::kMaxPool2d, "cut", ops::max_pool2d, with_cut_windows(kDilatedImage), largest_of),
      single_case(Op::kMaxPool2d, ops::max_pool2d, largest_of),
      pool_case(Op::kAvgPool1d, "with padding", ops::avg_pool1d, kLine, average_with_padding),
      pool_case(Op::kAvgPool1d, "inside", ops::avg_pool1d, without_padding(kLine), average_inside),
      pool_case(Op::kAvgPool1d, "cut", ops::avg_pool1d, with_cut_windows(kLine), average_with_padding),
      single_case(Op::kAvgPool1d, ops::avg_pool1d, average_inside),
      pool_case(Op::kAvgPool2d, "with padding", ops::avg_pool2d, kImage, average_with_padding),
      pool_case(Op::kAvgPool2d, "inside", ops::avg_pool2d, without_padding(kImage), average_inside),
      pool_case(Op::kAvgPool2d, "cut", ops::avg_pool2d, with_cut_windows(kImage), average_with_padding),
      single_case(Op::kAvgPool2d, ops::avg_pool2d, average_inside),
      adaptive_case(Op::kAdaptiveAvgPool1d, 1, 3),
      adaptive_case(Op::kAdaptiveAvgPool2d, 3, 2),
      adaptive_case(Op::kAdaptiveMaxPool1d, 1, 3),
      adaptive_case(Op::kAdaptiveMaxPool2d, 3, 2),
      of_one_image(pool_case(Op::kMaxPool1d, "", ops::max_pool1d, kLine, largest_of), {{{5, 7}}}),
      of_one_image(pool_case(Op::kMaxPool2d, "", ops::max_pool2d, kImage, largest_of), {{{3, 5, 7}}}),
      of_one_image(pool_case(Op::kAvgPool1d, "", ops::avg_pool1d, kLine, average_with_padding), {{{5, 7}}}),
      of_one_image(pool_case(Op::kAvgPool2d, "", ops::avg_pool2d, kImage, average_with_padding), {{{3, 5, 7}}}),
      of_one_image(adaptive_case(Op::kAdaptiveAvgPool1d, 1, 3), {{{5, 7}}}),
      of_one_image(adaptive_case(Op::kAdaptiveAvgPool2d, 3, 2), {{{3, 5, 7}}}),
      of_one_image(adaptive_case(Op::kAdaptiveMaxPool1d, 1, 3), {{{5, 7}}}),
      of_one_image(adaptive_case(Op::kAdaptiveMaxPool2d, 3, 2), {{{3, 5, 7}}}),
  };
}

}  // namespace halftone
