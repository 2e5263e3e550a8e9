// Images and volumes at the places of a grid, against the weights of all elements along each dimension.
#include <cmath>

#include "calls.h"
#include "cubic_kernel.h"
#include "ops/ops.h"

namespace halftone {

namespace {

// Odd multiples of 1/64 from -95/64 to 95/64: no place is an element or a middle between two, where slopes change.
OpInput coordinates() {
  return {
      [](std::mt19937& random, const Shapes&, int64_t) { return (2 * static_cast<double>(random() % 96) - 95) / 64; }};
}

// Mirrors at both ends until the place is between them.
double mirrored_place(double place, double low, double high) {
  if (low == high) return low;
  while (place < low || place > high) place = place < low ? 2 * low - place : 2 * high - place;
  return place;
}

double padded_place(const GridRule& rule, double place, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  const double edge = rule.aligns_corners ? 0 : 0.5;
  if (rule.padding == GridPadding::kZeros) return place;
  if (rule.padding == GridPadding::kReflection) place = mirrored_place(place, -edge, last + edge);
  return std::min(std::max(place, 0.0), last);
}

// The weights of all elements of a dimension at a coordinate.
std::vector<double> weights_at(const GridRule& rule, double coordinate, int64_t size) {
  std::vector<double> weights(static_cast<size_t>(size));
  const auto length = static_cast<double>(size);
  const double place = rule.aligns_corners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
  for (int64_t i = 0; i < size; ++i) {
    const double distance = std::fabs(padded_place(rule, place, size) - static_cast<double>(i));
    double& weight = weights[static_cast<size_t>(i)];
    if (rule.mode == GridMode::kLinear) weight = std::max(0.0, 1 - distance);
    if (rule.mode == GridMode::kNearest) weight = distance < 0.5 ? 1 : 0;
  }
  if (rule.mode != GridMode::kCubic) return weights;
  for (double i = std::floor(place) - 1; i <= place + 2; ++i) {
    const double element = padded_place(rule, i, size);
    if (element < 0 || element >= length) continue;
    weights[static_cast<size_t>(element)] += static_cast<double>(cubic_kernel_at(place - i));
  }
  return weights;
}

// [n, c, d, h, w] at [n, od, oh, ow, 2 or 3].
Array sampled(const GridRule& rule, const Array& in, const Array& grid) {
  const int64_t dims = grid.shape[4];
  Array out({in.shape[0], in.shape[1], grid.shape[1], grid.shape[2], grid.shape[3]});
  int64_t k = 0;
  for_each_index(out.shape, [&](const Shape& at) {
    const int64_t point = place_of(grid.shape, {at[0], at[2], at[3], at[4], 0});
    const std::vector<double> depth =
        dims == 3 ? weights_at(rule, grid[point + 2], in.shape[2]) : std::vector<double>{1};
    const std::vector<double> height = weights_at(rule, grid[point + 1], in.shape[3]);
    const std::vector<double> width = weights_at(rule, grid[point], in.shape[4]);
    Sum sum;
    for_each_index({in.shape[2], in.shape[3], in.shape[4]}, [&](const Shape& from) {
      const double weight = depth[static_cast<size_t>(from[0])] * height[static_cast<size_t>(from[1])] *
                            width[static_cast<size_t>(from[2])];
      if (weight != 0) sum.add(weight * in[place_of(in.shape, {at[0], at[1], from[0], from[1], from[2]})]);
    });
    out[k++] = sum.value();
    out.slack.push_back(sum.slack_in_order() + 16);
  });
  return out;
}

OpCase grid_case(const char* what, const GridRule& rule, std::vector<Shapes> shapes) {
  return {
      .op = Op::kGridSample,
      .what = what,
      .inputs = {{distinct()}, coordinates()},
      .shapes = std::move(shapes),
      .run = call_of_two([=](const Tensor& input, const Tensor& grid) { return ops::grid_sample(input, grid, rule); }),
      .reference = [=](const Arrays& in) { return Arrays{sampled(rule, in[0], in[1])}; },
      .is_exact = rule.mode == GridMode::kNearest,
      .slope_terms = 64};
}

// Images are volumes of depth 1.
OpCase grid_image_case(const char* what, const GridRule& rule, std::vector<Shapes> shapes) {
  const Reshape as_volumes = [](const Shapes& in) {
    const Shape &image = in[0], &grid = in[1];
    return Shapes{{image[0], image[1], 1, image[2], image[3]}, {grid[0], 1, grid[1], grid[2], 2}};
  };
  return with_fewer_dimensions(grid_case(what, rule, {}), what, std::move(shapes), as_volumes,
                               [](const Shapes&, const Shape& out) {
                                 return Shape{out[0], out[1], out[3], out[4]};
                               });
}

const char* text_of(GridPadding padding) {
  return padding == GridPadding::kZeros ? "zeros" : padding == GridPadding::kBorder ? "border" : "reflection";
}

}  // namespace

std::vector<OpCase> grid_cases() {
  const std::vector<Shapes> images = {{{1, 1, 1, 1}, {1, 1, 1, 2}}, {{3, 5, 5, 7}, {3, 3, 5, 2}}};
  const std::vector<Shapes> volumes = {{{1, 1, 1, 1, 1}, {1, 1, 1, 1, 3}}, {{1, 3, 3, 5, 3}, {1, 3, 1, 5, 3}}};
  std::vector<OpCase> cases;
  for (const GridPadding padding : {GridPadding::kZeros, GridPadding::kBorder, GridPadding::kReflection}) {
    for (const bool aligns_corners : {false, true}) {
      for (const GridMode mode : {GridMode::kLinear, GridMode::kNearest, GridMode::kCubic}) {
        const GridRule rule = {mode, padding, aligns_corners};
        cases.push_back(grid_image_case(text_of(padding), rule, images));
        cases.push_back(grid_case(text_of(padding), rule, volumes));
      }
    }
  }
  const std::vector<Shapes> others = {{{0, 2, 5, 5}, {0, 3, 3, 2}},
                                      {{2, 0, 5, 5}, {2, 3, 3, 2}},
                                      {{1, 2, 5, 5}, {1, 0, 3, 2}},
                                      {{2, 3, 75, 77}, {2, 7, 11, 2}}};
  for (const GridMode mode : {GridMode::kLinear, GridMode::kNearest, GridMode::kCubic}) {
    cases.push_back(grid_image_case("of other sizes", {mode, GridPadding::kReflection, false}, others));
    // Over the large image cubic weights curve too much for finite differences.
    if (mode == GridMode::kCubic) cases.back().shapes.back() = {{1, 2, 6, 5}, {1, 3, 3, 2}};
  }
  return cases;
}

}  // namespace halftone
