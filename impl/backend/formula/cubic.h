// Cubic convolution: the four elements that a position of a resampled dimension reads, and their weights. Pure
// function, safe from any thread.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// The elements first to first + 3; those outside of the dimension are its nearest element.
struct CubicTaps {
  int64_t first;
  double weight[4];
};

HALFTONE_HOST_DEVICE inline int64_t clamped_tap(const CubicTaps& taps, int tap, int64_t size) {
  const int64_t place = taps.first + tap;
  return place < 0 ? 0 : place >= size ? size - 1 : place;
}

// The weights of four elements for a place that lies `t` behind the second. Keys, "Cubic convolution interpolation for
// digital image processing", 1981, with a = -3/4.
HALFTONE_HOST_DEVICE inline CubicTaps cubic_taps_at(int64_t floor, double t) {
  constexpr double kSlope = -0.75;
  const auto near = [](double x) { return ((kSlope + 2) * x - (kSlope + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kSlope * x - 5 * kSlope) * x + 8 * kSlope) * x - 4 * kSlope; };
  return {floor - 1, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
}

// The slopes of these weights by t.
HALFTONE_HOST_DEVICE inline void cubic_slopes_at(double t, double (&slope)[4]) {
  constexpr double kSlope = -0.75;
  const auto near = [](double x) { return (3 * (kSlope + 2) * x - 2 * (kSlope + 3)) * x; };
  const auto far = [](double x) { return (3 * kSlope * x - 10 * kSlope) * x + 8 * kSlope; };
  slope[0] = far(t + 1);
  slope[1] = near(t);
  slope[2] = -near(1 - t);
  slope[3] = -far(2 - t);
}

namespace detail {

// The place is numerator / denominator, above -1: exact, as its digits behind the point are those of t.
template <class Wide>
HALFTONE_HOST_DEVICE inline CubicTaps cubic_taps_of(Wide position, Wide size, Wide count, bool aligns_corners) {
  const Wide numerator = aligns_corners ? position * (size - 1) : (2 * position + 1) * size - count;
  const Wide denominator = aligns_corners ? (count > 1 ? count - 1 : 1) : 2 * count;
  const Wide floor = numerator < 0 ? -1 : numerator / denominator;
  const auto rest = static_cast<double>(static_cast<int64_t>(numerator - floor * denominator));
  return cubic_taps_at(static_cast<int64_t>(floor), rest / static_cast<double>(static_cast<int64_t>(denominator)));
}

}  // namespace detail

// Position p of `count` is at (p + 1/2) size / count - 1/2, or with aligned corners at p (size - 1) / (count - 1), 0 if
// count is 1.
HALFTONE_HOST_DEVICE inline CubicTaps cubic_taps(int64_t position, int64_t size, int64_t count, bool aligns_corners) {
  constexpr int64_t kSmall = int64_t{1} << 30;
  if (size < kSmall && count < kSmall) return detail::cubic_taps_of<int64_t>(position, size, count, aligns_corners);
  return detail::cubic_taps_of<__int128>(position, size, count, aligns_corners);
}

}  // namespace halftone
