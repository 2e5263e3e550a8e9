// Maxima and averages over windows of volumes.
#include <algorithm>
#include <limits>

#include "calls.h"
#include "ops/pool/pool3d.h"

namespace halftone {

namespace {

// The number of windows along a dimension.
int64_t windows_along(const ops::Pool3dOptions& options, int dim, int64_t size) {
  const int64_t stride = options.stride[dim], end = size + options.padding[dim];
  const int64_t left = end + options.padding[dim] - options.dilation[dim] * (options.kernel[dim] - 1) - 1;
  const bool is_cut =
      options.last_window == LastWindow::kCut && left % stride != 0 && (left / stride + 1) * stride < end;
  return left / stride + (is_cut ? 2 : 1);
}

// The elements of one window, and how many it has with the padding, but not beyond it.
struct Window {
  std::vector<double> inside;
  int64_t size = 0;
};

Window window_at(const Array& volumes, const ops::Pool3dOptions& options, const Shape& at) {
  Window window;
  for_each_index({options.kernel[0], options.kernel[1], options.kernel[2]}, [&](const Shape& element) {
    Shape place = {at[0], at[1]};
    bool is_inside = true, counts = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t size = volumes.shape[2 + d];
      place.push_back(at[2 + d] * options.stride[d] + element[d] * options.dilation[d] - options.padding[d]);
      is_inside = is_inside && place[2 + d] >= 0 && place[2 + d] < size;
      counts = counts && place[2 + d] < size + options.padding[d];
    }
    window.size += counts ? 1 : 0;
    if (is_inside) window.inside.push_back(volumes[place_of(volumes.shape, place)]);
  });
  return window;
}

template <class Combine>
std::function<Arrays(const Arrays&)> pooled_volumes(const ops::Pool3dOptions& options, Combine combine) {
  return [=](const Arrays& in) {
    Shape shape = {in[0].shape[0], in[0].shape[1]};
    for (int d = 0; d < 3; ++d) shape.push_back(windows_along(options, d, in[0].shape[2 + d]));
    Array out(shape);
    int64_t i = 0;
    for_each_index(shape, [&](const Shape& at) { combine(window_at(in[0], options, at), out, i++); });
    return Arrays{out};
  };
}

void largest(const Window& window, Array& out, int64_t i) {
  out[i] = -std::numeric_limits<double>::infinity();
  for (const double value : window.inside) out[i] = std::max(out[i], value);
}
void average_over(const Window& window, int64_t count, Array& out, int64_t i) {
  Sum sum;
  for (const double value : window.inside) sum.add(value);
  out[i] = sum.value() / static_cast<double>(count);
  out.slack.push_back(sum.slack_in_order() / static_cast<double>(count));
}
void average_with_borders(const Window& window, Array& out, int64_t i) { average_over(window, window.size, out, i); }
void average_of_elements(const Window& window, Array& out, int64_t i) {
  average_over(window, static_cast<int64_t>(window.inside.size()), out, i);
}

template <class Combine>
OpCase pool3d_case(Op op, const char* what, const ops::Pool3dOptions& options, Combine combine) {
  const auto call = op == Op::kMaxPool3d ? ops::max_pool3d : ops::avg_pool3d;
  return {.op = op,
          .what = what,
          .inputs = {{distinct()}},
          .shapes = {{{0, 2, 4, 5, 5}}, {{1, 3, 5, 5, 7}}, {{3, 1, 4, 7, 5}}, {{1, 1, 29, 35, 33}}},
          .run = call_of_one([=](const Tensor& x) { return call(x, options); }),
          .reference = pooled_volumes(options, combine),
          .is_exact = op == Op::kMaxPool3d,
          .gradient_roundings = 8};
}

// Depth, height and width have different parameters.
constexpr ops::Pool3dOptions kBlocks = {.kernel = {2, 3, 2}, .stride = {2, 1, 3}, .padding = {1, 1, 0}};
constexpr ops::Pool3dOptions kDilatedBlocks = {.kernel = {2, 2, 3}, .stride = {1, 2, 1}, .dilation = {3, 1, 2}};

constexpr ops::Pool3dOptions cut(ops::Pool3dOptions options) {
  options.last_window = LastWindow::kCut;
  return options;
}
constexpr ops::Pool3dOptions inside_only(ops::Pool3dOptions options) {
  options.counts_padding = false;
  return options;
}

template <class Combine>
OpCase of_single_elements(Op op, Combine combine) {
  OpCase result = pool3d_case(op, "of single elements", {}, combine);
  result.shapes = {{{1, 1, 1, 1, 1}}};
  return result;
}

}  // namespace

std::vector<OpCase> pool3d_cases() {
  return {pool3d_case(Op::kMaxPool3d, "strided", kBlocks, largest),
          pool3d_case(Op::kMaxPool3d, "dilated, cut", cut(kDilatedBlocks), largest),
          of_single_elements(Op::kMaxPool3d, largest),
          of_bytes(pool3d_case(Op::kMaxPool3d, "", kBlocks, largest), {{{1, 3, 5, 5, 7}}, {{0, 1, 5, 5, 7}}}),
          of_one_image(pool3d_case(Op::kMaxPool3d, "", kBlocks, largest), {{{3, 5, 5, 7}}}),
          pool3d_case(Op::kAvgPool3d, "with padding", kBlocks, average_with_borders),
          pool3d_case(Op::kAvgPool3d, "with padding, cut", cut(kBlocks), average_with_borders),
          pool3d_case(Op::kAvgPool3d, "inside, cut", inside_only(cut(kBlocks)), average_of_elements),
          of_single_elements(Op::kAvgPool3d, average_with_borders),
          of_one_image(pool3d_case(Op::kAvgPool3d, "", kBlocks, average_with_borders), {{{3, 5, 5, 7}}})};
}

}  // namespace halftone
