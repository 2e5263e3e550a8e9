// The elements that a position of a resampled dimension reads, and the positions that read an element. Pure functions
// for host and device.
#pragma once

#include <cstdint>

#include "backend/kernels/resample.h"
#include "core/host_device.h"

namespace halftone::cuda {

// One dimension. REQUIRES: size and count are at least 1.
struct ResampleAxis {
  int64_t size = 1;   // of the input
  int64_t count = 1;  // of the output
  ResampleMode mode = ResampleMode::kNearest;
  bool aligns_corners = false;
};

inline ResampleAxis resample_axis(const ResampleArgs& args, int dim) {
  return {args.input.shape[2 + dim], args.output.shape[2 + dim], args.mode, args.aligns_corners};
}

// first + share * (second - first); only the first one counts for kNearest.
struct Neighbours {
  int64_t first;
  int64_t second;
  double share;
};

namespace detail {

// The place of a position, floor(numerator / denominator) and the rest, exact: products of two sizes may exceed 64
// bits.
template <class Wide>
HALFTONE_HOST_DEVICE inline Neighbours neighbours_of(const ResampleAxis& axis, Wide position, Wide size, Wide count) {
  Wide numerator = position * size;
  Wide denominator = count;
  if (axis.mode == ResampleMode::kLinear && axis.aligns_corners) {
    numerator = position * (size - 1);
    denominator = count > 1 ? count - 1 : 1;
  } else if (axis.mode == ResampleMode::kLinear) {
    const Wide doubled = (2 * position + 1) * size;
    numerator = doubled > count ? doubled - count : 0;
    denominator = 2 * count;
  }
  const auto first = static_cast<int64_t>(numerator / denominator);
  const auto rest = static_cast<double>(static_cast<int64_t>(numerator - static_cast<Wide>(first) * denominator));
  const int64_t second = first + 1 < axis.size ? first + 1 : axis.size - 1;
  return {first, second, rest / static_cast<double>(static_cast<int64_t>(denominator))};
}

}  // namespace detail

HALFTONE_HOST_DEVICE inline Neighbours neighbours_at(const ResampleAxis& axis, int64_t position) {
  constexpr int64_t kSmall = int64_t{1} << 31;
  if (axis.size < kSmall && axis.count < kSmall) {
    return detail::neighbours_of<uint64_t>(axis, static_cast<uint64_t>(position), static_cast<uint64_t>(axis.size),
                                           static_cast<uint64_t>(axis.count));
  }
  return detail::neighbours_of<__int128>(axis, position, axis.size, axis.count);
}

// The first position that reads no element before `element`. Places rise with positions.
HALFTONE_HOST_DEVICE inline int64_t first_position_at(const ResampleAxis& axis, int64_t element) {
  int64_t low = 0;
  int64_t high = axis.count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (neighbours_at(axis, middle).first < element) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace halftone::cuda
