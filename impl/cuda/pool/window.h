// The elements that pooling windows cover along one dimension, and the windows that cover an element. Pure functions
// for host and device.
#pragma once

#include <cstdint>

#include "backend/kernels/pool.h"
#include "core/host_device.h"

namespace halftone::cuda {

// One dimension of a pooling.
struct PoolAxis {
  int64_t size = 0;       // of the input
  int64_t positions = 0;  // of the output
  int64_t kernel = 0;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
  bool is_adaptive = false;
  bool counts_padding = false;
};

inline PoolAxis pool_axis(const PoolArgs& args, int dim) {
  return {.size = args.input.shape[2 + dim],
          .positions = args.output.shape[2 + dim],
          .kernel = args.kernel[dim],
          .stride = args.window.stride[dim],
          .padding = args.window.padding[dim],
          .dilation = args.window.dilation[dim],
          .is_adaptive = args.is_adaptive,
          .counts_padding = args.counts_padding};
}

// `count` elements from `first` on, `step` apart; `counted` is what an average divides by.
struct Taps {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
  int64_t counted = 0;
};

// Positions [begin, end) of the output.
struct PositionRange {
  int64_t begin;
  int64_t end;
};

HALFTONE_HOST_DEVICE inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
HALFTONE_HOST_DEVICE inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
// REQUIRES: b > 0. For any sign of a.
HALFTONE_HOST_DEVICE inline int64_t floor_quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
HALFTONE_HOST_DEVICE inline int64_t ceil_quotient(int64_t a, int64_t b) { return -floor_quotient(-a, b); }

// p * size / count, rounded down or up. The product may exceed 64 bits; the parts of the quotient do not.
HALFTONE_HOST_DEVICE inline int64_t adaptive_bound(const PoolAxis& axis, int64_t p, bool rounds_up) {
  const int64_t rest = p * (axis.size % axis.positions) + (rounds_up ? axis.positions - 1 : 0);
  return p * (axis.size / axis.positions) + rest / axis.positions;
}

HALFTONE_HOST_DEVICE inline Taps taps_of(const PoolAxis& axis, int64_t position) {
  if (axis.is_adaptive) {
    const int64_t begin = adaptive_bound(axis, position, false);
    const int64_t end = adaptive_bound(axis, position + 1, true);
    return {begin, 1, end - begin, end - begin};
  }
  const int64_t origin = position * axis.stride - axis.padding;
  const int64_t skipped = origin < 0 ? ceil_quotient(-origin, axis.dilation) : 0;
  const int64_t inside = origin < axis.size ? (axis.size - 1 - origin) / axis.dilation + 1 : 0;
  const int64_t count = most(least(inside, axis.kernel) - skipped, 0);
  const int64_t padded_end = least(origin + axis.kernel, axis.size + axis.padding);
  return {origin + skipped * axis.dilation, axis.dilation, count, axis.counts_padding ? padded_end - origin : count};
}

// The positions whose window may cover `element`; with a dilation some of them skip it.
HALFTONE_HOST_DEVICE inline PositionRange positions_over(const PoolAxis& axis, int64_t element) {
  if (axis.is_adaptive) {
    // p covers e where p * size < (e + 1) * positions and (p + 1) * size > e * positions.
    const int64_t begin = element / axis.size * axis.positions + element % axis.size * axis.positions / axis.size;
    return {begin, least(((element + 1) * axis.positions - 1) / axis.size + 1, axis.positions)};
  }
  const int64_t reach = (axis.kernel - 1) * axis.dilation;
  const int64_t begin = most(ceil_quotient(element + axis.padding - reach, axis.stride), 0);
  return {begin, least(floor_quotient(element + axis.padding, axis.stride) + 1, axis.positions)};
}

}  // namespace halftone::cuda
