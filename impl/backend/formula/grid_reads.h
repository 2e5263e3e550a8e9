// Sampling at the places of a grid: the elements that a place reads, their weights, and the slopes of the weights. Pure
// functions, safe from any thread.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend/formula/cubic.h"
#include "core/host_device.h"

namespace halftone {

// kNearest reads the element nearest to a place, of two the one with the even index. kLinear weighs the two neighbours
// along each dimension, kCubic four.
enum class GridMode : int32_t { kLinear, kNearest, kCubic };
// The elements outside of the input: zeros, the nearest element, or a reflection at the outer elements' centres if
// corners are aligned, else at their outer edges.
enum class GridPadding : int32_t { kZeros, kBorder, kReflection };

// Coordinates -1 and 1 are the centres of the first and last elements if corners are aligned, else their outer edges.
struct GridRule {
  GridMode mode = GridMode::kLinear;
  GridPadding padding = GridPadding::kZeros;
  bool aligns_corners = false;
};

// Along one dimension. An element of -1 is outside of the input and counts as 0.
struct GridTaps {
  int count;
  int64_t at[4];
  double weight[4];
  double slope[4];  // of the weight by the coordinate
};

// Along depth, height and width.
struct GridPoint {
  GridTaps along[3];
};

// All elements inside of the input that a point reads.
template <class C>
struct GridReads {
  static constexpr int kMost = 64;
  int count;
  int64_t offset[kMost];
  C weight[kMost];
};

namespace detail {

// The place of a coordinate, in elements, and its slope.
struct GridPlace {
  double at;
  double slope;
};

HALFTONE_HOST_DEVICE inline GridPlace reflected(const GridPlace& place, int64_t size, bool aligns_corners) {
  const double low = aligns_corners ? 0.0 : -0.5;
  const double span = static_cast<double>(aligns_corners ? size - 1 : size);
  if (span == 0.0) return {0.0, 0.0};
  const double rest = std::fmod(std::fabs(place.at - low), 2 * span);
  const bool is_turned = rest >= span;
  const bool is_mirrored = (place.at < low) != is_turned;
  return {low + (is_turned ? 2 * span - rest : rest), is_mirrored ? -place.slope : place.slope};
}

// NaN becomes 0, as in PyTorch. The slope is 0 at both ends.
HALFTONE_HOST_DEVICE inline GridPlace clamped(const GridPlace& place, int64_t size) {
  const auto last = static_cast<double>(size - 1);
  if (!(place.at > 0.0)) return {0.0, 0.0};
  return place.at < last ? place : GridPlace{last, 0.0};
}

HALFTONE_HOST_DEVICE inline GridPlace padded(const GridRule& rule, const GridPlace& place, int64_t size) {
  if (rule.padding == GridPadding::kZeros) return place;
  if (rule.padding == GridPadding::kBorder) return clamped(place, size);
  return clamped(reflected(place, size, rule.aligns_corners), size);
}

// NaN is outside.
HALFTONE_HOST_DEVICE inline int64_t element_at(double whole, int64_t size) {
  return whole >= 0.0 && whole <= static_cast<double>(size - 1) ? static_cast<int64_t>(whole) : -1;
}

// Padding moves each of the four elements, not the place.
HALFTONE_HOST_DEVICE inline GridTaps cubic_grid_taps(const GridRule& rule, const GridPlace& place, int64_t size) {
  const double floor = std::floor(place.at);
  const CubicTaps cubic = cubic_taps_at(0, place.at - floor);
  GridTaps taps = {4, {}, {}, {}};
  cubic_slopes_at(place.at - floor, taps.slope);
  for (int k = 0; k < 4; ++k) {
    taps.at[k] = element_at(padded(rule, {floor + k - 1, 0.0}, size).at, size);
    taps.weight[k] = cubic.weight[k];
    taps.slope[k] *= place.slope;
  }
  return taps;
}

}  // namespace detail

HALFTONE_HOST_DEVICE inline GridTaps grid_taps(const GridRule& rule, double coordinate, int64_t size) {
  const double half = static_cast<double>(rule.aligns_corners ? size - 1 : size) / 2;
  const detail::GridPlace given = {(coordinate + 1) * half - (rule.aligns_corners ? 0.0 : 0.5), half};
  if (rule.mode == GridMode::kCubic) return detail::cubic_grid_taps(rule, given, size);
  const detail::GridPlace place = detail::padded(rule, given, size);
  if (rule.mode == GridMode::kNearest) return {1, {detail::element_at(std::rint(place.at), size)}, {1.0}, {0.0}};
  const double floor = std::floor(place.at), share = place.at - floor;
  return {2,
          {detail::element_at(floor, size), detail::element_at(floor + 1, size)},
          {1 - share, share},
          {-place.slope, place.slope}};
}

// `coordinates` are those along the width, the height and, if there are three, the depth; without it the depth is 1.
HALFTONE_HOST_DEVICE inline GridPoint grid_point(const GridRule& rule, const double* coordinates, int dims,
                                                 const int64_t* sizes) {
  GridPoint point;
  point.along[0] = dims == 3 ? grid_taps(rule, coordinates[2], sizes[0]) : GridTaps{1, {0}, {1.0}, {0.0}};
  point.along[1] = grid_taps(rule, coordinates[1], sizes[1]);
  point.along[2] = grid_taps(rule, coordinates[0], sizes[2]);
  return point;
}

// The reads in an input with these strides of depth, height and width. Along the dimension `slope_dim`, which may be
// none (-1), slopes take the place of the weights.
template <class C>
HALFTONE_HOST_DEVICE inline GridReads<C> grid_reads(const GridPoint& point, const int64_t* strides, int slope_dim) {
  const auto weight_of = [&](int dim, int k) {
    return dim == slope_dim ? point.along[dim].slope[k] : point.along[dim].weight[k];
  };
  GridReads<C> reads;
  reads.count = 0;
  const GridTaps &depth = point.along[0], &height = point.along[1], &width = point.along[2];
  for (int z = 0; z < depth.count; ++z) {
    for (int y = 0; y < height.count; ++y) {
      for (int x = 0; x < width.count; ++x) {
        if (depth.at[z] < 0 || height.at[y] < 0 || width.at[x] < 0) continue;
        reads.offset[reads.count] = depth.at[z] * strides[0] + height.at[y] * strides[1] + width.at[x] * strides[2];
        reads.weight[reads.count++] = static_cast<C>(weight_of(0, z) * weight_of(1, y) * weight_of(2, x));
      }
    }
  }
  return reads;
}

}  // namespace halftone
