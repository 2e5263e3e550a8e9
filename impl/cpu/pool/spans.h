// The elements of a dimension that pooling windows cover. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/kernels/kernels.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

constexpr int64_t ceil_quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The range of positions whose element `tap` is inside the input, and the element that it would be at position 0.
struct TapRange {
  int64_t begin;
  int64_t end;
  int64_t origin;
};

inline TapRange tap_range(const PoolArgs& args, int dim, int64_t tap) {
  const int64_t size = args.input.shape[2 + dim];
  const int64_t positions = args.output.shape[2 + dim];
  const int64_t stride = args.window.stride[dim];
  const int64_t origin = tap * args.window.dilation[dim] - args.window.padding[dim];
  const int64_t begin = origin < 0 ? std::min(ceil_quotient(-origin, stride), positions) : 0;
  const int64_t end = origin < size ? std::min((size - 1 - origin) / stride + 1, positions) : 0;
  return {begin, std::max(begin, end), origin};
}

// A bound of the window elements [begin, end) along a dimension that reach into the input at one of the positions
// [first, first + count). It is computed from the first and the last position: if windows are further apart than the
// input is long, some between them reach nothing. An empty range has begin >= end.
inline TapRange taps_inside(const PoolArgs& args, int dim, int64_t first, int64_t count) {
  const int64_t size = args.input.shape[2 + dim];
  const int64_t dilation = args.window.dilation[dim];
  const int64_t first_origin = first * args.window.stride[dim] - args.window.padding[dim];
  const int64_t last_origin = first_origin + (count - 1) * args.window.stride[dim];
  const int64_t begin = last_origin < 0 ? ceil_quotient(-last_origin, dilation) : 0;
  const int64_t end = first_origin < size ? (size - 1 - first_origin) / dilation + 1 : 0;
  return {begin, std::min(end, args.kernel[dim]), first_origin};
}

// The positions whose window lies inside the input as a whole.
struct Positions {
  int64_t begin;
  int64_t end;

  bool contain(int64_t position) const { return position >= begin && position < end; }
};

inline Positions positions_inside(const PoolArgs& args, int dim) {
  const int64_t positions = args.output.shape[2 + dim];
  const int64_t stride = args.window.stride[dim];
  const int64_t padding = args.window.padding[dim];
  const int64_t last_begin = args.input.shape[2 + dim] - 1 - (args.kernel[dim] - 1) * args.window.dilation[dim];
  const int64_t begin = std::min(ceil_quotient(padding, stride), positions);
  const int64_t end = last_begin + padding >= 0 ? std::min((last_begin + padding) / stride + 1, positions) : 0;
  return {begin, std::max(begin, end)};
}

// The elements [begin, end) that a window covers along a dimension, and the number that an average counts.
struct Span {
  int64_t begin;
  int64_t end;
  int64_t counted;
};

// REQUIRES: dilation is 1.
inline Span span_at(const PoolArgs& args, int dim, int64_t position) {
  const int64_t size = args.input.shape[2 + dim];
  if (args.is_adaptive) {
    const int64_t count = args.output.shape[2 + dim];
    // position * size may exceed 64 bits; the parts of the quotient do not.
    const auto scaled = [&](int64_t p, int64_t round_up) {
      return p * (size / count) + (p * (size % count) + round_up * (count - 1)) / count;
    };
    const Span span = {scaled(position, 0), scaled(position + 1, 1), 0};
    return {span.begin, span.end, span.end - span.begin};
  }
  const int64_t begin = position * args.window.stride[dim] - args.window.padding[dim];
  const int64_t end = begin + args.kernel[dim];
  const Span inside = {std::max<int64_t>(begin, 0), std::min(end, size), 0};
  const int64_t padded_end = std::min(end, size + args.window.padding[dim]);
  return {inside.begin, inside.end, args.counts_padding ? padded_end - begin : inside.end - inside.begin};
}

// The number of elements that one thread takes at a time.
constexpr int64_t kPoolWork = int64_t{1} << 14;

// Calls f(plane) for every plane of n and c; work is cut by shapes alone.
template <class F>
void for_each_plane(ThreadPool& pool, const PoolArgs& args, F&& f) noexcept {
  const int64_t planes = args.input.shape[0] * args.input.shape[1];
  const int64_t plane_size = args.input.shape[2] * args.input.shape[3];
  const int64_t step = std::max<int64_t>(1, kPoolWork / std::max<int64_t>(1, plane_size));
  pool.parallel_for(ceil_quotient(planes, step), [&](int64_t chunk, int) {
    for (int64_t i = chunk * step; i < std::min((chunk + 1) * step, planes); ++i) f(i);
  });
}

// The first element of plane number `index`, counted over n and c.
template <class T>
T* plane_at(const View& view, int64_t index) {
  const int64_t channels = view.shape[1];
  return static_cast<T*>(view.data) + index / channels * view.strides[0] + index % channels * view.strides[1];
}

}  // namespace halftone::cpu
