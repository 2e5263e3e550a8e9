// Lines and images of another size.
#include <algorithm>
#include <cmath>

#include "calls.h"
#include "cubic_kernel.h"
#include "ops/ops.h"

namespace halftone {

namespace {

struct Resize {
  Op op;
  int64_t height, width;  // of the result; the height is 1 over lines
  bool is_linear = false;
  bool align_corners = false;

  bool is_1d() const { return op == Op::kUpsampleNearest1d || op == Op::kUpsampleLinear1d; }
  Tensor operator()(const Tensor& x) const {
    if (op == Op::kUpsampleNearest1d) return ops::upsample_nearest1d(x, width);
    if (op == Op::kUpsampleLinear1d) return ops::upsample_linear1d(x, width, align_corners);
    if (op == Op::kUpsampleNearest2d) return ops::upsample_nearest2d(x, height, width);
    if (op == Op::kUpsampleBicubic2d) return ops::upsample_bicubic2d(x, height, width, align_corners);
    return ops::upsample_bilinear2d(x, height, width, align_corners);
  }
};

// The weight of an element, which also stands for all elements outside of its end.
double cubic_weight_at(const Resize& resize, int64_t i, int64_t size, int64_t p, int64_t count) {
  using Wide = long double;
  const auto from = static_cast<Wide>(size), to = static_cast<Wide>(count);
  Wide place = (static_cast<Wide>(p) + Wide{0.5}) * from / to - Wide{0.5};
  if (resize.align_corners) place = count == 1 ? 0 : static_cast<Wide>(p) * (from - 1) / (to - 1);
  Wide weight = cubic_kernel_at(place - static_cast<Wide>(i));
  for (int64_t beyond = 1; beyond <= 3; ++beyond) {
    if (i == 0) weight += cubic_kernel_at(place + static_cast<Wide>(beyond));
    if (i == size - 1) weight += cubic_kernel_at(place - static_cast<Wide>(i + beyond));
  }
  return static_cast<double>(weight);
}

// The weight of element `i` of `size` at position `p` of `count`.
double weight_at(const Resize& resize, int64_t i, int64_t size, int64_t p, int64_t count) {
  using Wide = long double;
  const auto at = static_cast<Wide>(p), from = static_cast<Wide>(size), to = static_cast<Wide>(count);
  if (resize.op == Op::kUpsampleBicubic2d) return cubic_weight_at(resize, i, size, p, count);
  if (!resize.is_linear) return i == p * size / count ? 1 : 0;
  Wide place = std::max<Wide>(0, (at + Wide{0.5}) * from / to - Wide{0.5});
  if (resize.align_corners) place = count == 1 ? 0 : at * (from - 1) / (to - 1);
  return static_cast<double>(std::max<Wide>(0, 1 - std::fabs(std::min(place, from - 1) - static_cast<Wide>(i))));
}

// The sum over the whole plane of each element times its weight.
Arrays resized(const Array& in, const Resize& resize) {
  const bool is_1d = resize.is_1d();
  const int64_t height = is_1d ? 1 : in.shape[2], width = in.shape[in.shape.rank() - 1];
  Array out(Shape{in.shape[0], in.shape[1], resize.height, resize.width});
  int64_t k = 0;
  for_each_index(out.shape, [&](const Shape& at) {
    Sum sum;
    for (int64_t y = 0; y < height; ++y) {
      const double down = weight_at(resize, y, height, at[2], resize.height);
      for (int64_t x = 0; x < width && down != 0; ++x) {
        const double right = weight_at(resize, x, width, at[3], resize.width);
        if (right != 0) sum.add(down * right * in[((at[0] * in.shape[1] + at[1]) * height + y) * width + x]);
      }
    }
    out[k++] = sum.value();
    out.slack.push_back(sum.slack_in_order() + 16);
  });
  if (is_1d) out.shape = {in.shape[0], in.shape[1], resize.width};
  return {out};
}

OpCase resize_case(const char* what, const Resize& resize) {
  OpCase result = {.op = resize.op,
                   .what = what,
                   .inputs = {{distinct()}},
                   .run = call_of_one(resize),
                   .reference = [=](const Arrays& in) { return resized(in[0], resize); },
                   .is_exact = !resize.is_linear,
                   .slope_terms = 4};
  if (resize.is_1d()) {
    result.shapes = {{{0, 2, 5}}, {{1, 1, 1}}, {{3, 5, 7}}, {{1, 3, 5}}, {{3, 5, 2305}}};
  } else {
    result.shapes = {{{0, 2, 5, 5}}, {{1, 1, 1, 1}}, {{1, 3, 5, 7}}, {{3, 1, 7, 5}}, {{2, 3, 75, 77}}};
  }
  return result;
}

}  // namespace

std::vector<OpCase> upsample_cases() {
  const Op nearest1d = Op::kUpsampleNearest1d, nearest2d = Op::kUpsampleNearest2d;
  const Op linear1d = Op::kUpsampleLinear1d, bilinear2d = Op::kUpsampleBilinear2d;
  const Op bicubic2d = Op::kUpsampleBicubic2d;
  return {resize_case("to a larger line", {nearest1d, 1, 16}),
          resize_case("to a smaller line", {nearest1d, 1, 3}),
          resize_case("to a taller image", {nearest2d, 11, 3}),
          resize_case("to a wider image", {nearest2d, 2, 301}),
          resize_case("to a larger line", {linear1d, 1, 16, true}),
          resize_case("to a smaller line", {linear1d, 1, 3, true}),
          resize_case("with aligned corners", {linear1d, 1, 13, true, true}),
          resize_case("with aligned corners to one element", {linear1d, 1, 1, true, true}),
          resize_case("to a taller image", {bilinear2d, 11, 3, true}),
          resize_case("to a wider image", {bilinear2d, 2, 301, true}),
          resize_case("with aligned corners", {bilinear2d, 9, 4, true, true}),
          resize_case("to a taller image", {bicubic2d, 11, 3, true}),
          resize_case("to a wider image", {bicubic2d, 2, 301, true}),
          resize_case("with aligned corners", {bicubic2d, 9, 4, true, true}),
          resize_case("with aligned corners to one element", {bicubic2d, 1, 1, true, true}),
          of_bytes(resize_case("", {nearest1d, 1, 16}), {{{0, 2, 5}}, {{3, 5, 7}}}),
          of_bytes(resize_case("", {nearest2d, 11, 3}), {{{0, 2, 5, 5}}, {{1, 3, 5, 7}}}),
          of_bytes(resize_case("", {bilinear2d, 3, 14, true}), {{{0, 2, 6, 7}}, {{5, 3, 6, 7}}}),
          of_bytes(resize_case("", {bicubic2d, 10, 14, true}), {{{0, 2, 5, 7}}, {{1, 3, 5, 7}}})};
}

}  // namespace halftone
