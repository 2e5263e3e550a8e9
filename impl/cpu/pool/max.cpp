// Maxima of windows. The loops along rows are plain; the compiler vectorises them for each instruction set.
#include <algorithm>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pool/max.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/pool/adaptive_max.h"
#include "cpu/pool/entries.h"
#include "cpu/pool/spans.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// Positions of a row that are computed together; their maxima and indices stay in L1.
constexpr int64_t kPositions = 256;

// Takes every element that is larger or NaN. NaN compares false, so later elements replace it only if they are NaN.
template <class T, class C>
void take_larger(const T* in, int64_t step, int64_t count, C* best, int32_t* index, int32_t first, int32_t stride) {
  for (int64_t x = 0; x < count; ++x) {
    const C value = static_cast<C>(in[x * step]);
    const bool takes = (value > best[x]) | (value != value);
    best[x] = takes ? value : best[x];
    index[x] = takes ? first + static_cast<int32_t>(x) * stride : index[x];
  }
}

// The windows at columns [column, column + count) of one output row.
template <class T, class C>
class RowOfMaxima {
 public:
  RowOfMaxima(const PoolArgs& args, int64_t column, int64_t count)
      : args_(args), column_(column), count_(count), columns_(taps_inside(args, 1, column, count)) {
    std::fill_n(best_, count, -std::numeric_limits<C>::infinity());
    std::fill_n(index_, count, -1);
  }

  // Visits the window's rows and columns in order, so that the first of equal maxima stays. A kernel may be far larger
  // than the input: only its elements that can be inside are visited.
  void take_window(const T* plane, int64_t y) {
    const TapRange rows = taps_inside(args_, 0, y, 1);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int64_t row = rows.origin + i * args_.window.dilation[0];
      for (int64_t j = columns_.begin; j < columns_.end; ++j) take_tap(plane + row * args_.input.strides[2], row, j);
    }
  }

  // If all elements of a window are -inf, no comparison takes one: the index is the first one inside the window, set in
  // take_tap.
  void store(T* out, int32_t* indices) const {
    for (int64_t x = 0; x < count_; ++x) {
      if constexpr (requires { T::from(0.0f); }) {
        out[x] = T::from(best_[x]);
      } else {
        out[x] = best_[x];
      }
      indices[x] = index_[x];
    }
  }

 private:
  void take_tap(const T* in, int64_t row, int64_t j) {
    const TapRange columns = tap_range(args_, 1, j);
    const int64_t begin = std::max(columns.begin, column_);
    const int64_t end = std::min(columns.end, column_ + count_);
    if (begin >= end) return;
    const int64_t stride = args_.window.stride[1];
    const int64_t place = begin * stride + columns.origin;
    const int32_t first = static_cast<int32_t>(row * args_.input.shape[3] + place);
    C* best = best_ + (begin - column_);
    int32_t* index = index_ + (begin - column_);
    for (int64_t x = 0; x < end - begin; ++x) {
      if (index[x] < 0) index[x] = first + static_cast<int32_t>(x * stride);
    }
    take_larger(in + place * args_.input.strides[3], stride * args_.input.strides[3], end - begin, best, index, first,
                static_cast<int32_t>(stride));
  }

  const PoolArgs& args_;
  int64_t column_;
  int64_t count_;
  TapRange columns_;  // of the window's elements
  C best_[kPositions];
  int32_t index_[kPositions];
};

// Windows further apart than the input is long share no element of the window, so they are taken one by one.
int64_t positions_together(const PoolArgs& args) {
  return args.window.stride[1] > args.input.shape[3] ? 1 : kPositions;
}

template <class T, class C>
void max_of_plane(const PoolArgs& args, int64_t plane) {
  const int64_t width = args.output.shape[3];
  const int64_t together = positions_together(args);
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  int32_t* indices = plane_at<int32_t>(args.indices, plane);
  for (int64_t y = 0; y < args.output.shape[2]; ++y) {
    for (int64_t x = 0; x < width; x += together) {
      RowOfMaxima<T, C> row(args, x, std::min(together, width - x));
      row.take_window(in, y);
      row.store(out + y * width + x, indices + y * width + x);
    }
  }
}

void max_planes(ThreadPool& pool, const PoolArgs& args) {
  try_visit_dtype(FloatTypes{}, args.input.dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for_each_plane(pool, args, [&](int64_t plane) {
      if (args.is_adaptive) return adaptive_max_of_plane<T, C>(args, plane);
      max_of_plane<T, C>(args, plane);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace halftone::cpu {
namespace {

HWY_EXPORT(max_planes);

template <class T, class C>
void spread_plane(const PoolArgs& args, int64_t plane) {
  const T* grad = plane_at<T>(args.output, plane);
  const int32_t* indices = plane_at<int32_t>(args.indices, plane);
  C* out = plane_at<C>(args.input, plane);
  std::fill_n(out, args.input.shape[2] * args.input.shape[3], C{0});
  for (int64_t i = 0; i < args.output.shape[2] * args.output.shape[3]; ++i) {
    if (indices[i] >= 0) out[indices[i]] += static_cast<C>(grad[i]);
  }
}

}  // namespace

Status max_pool(Stream& stream, const PoolArgs& args) noexcept {
  HWY_DYNAMIC_DISPATCH(max_planes)(pool_of(stream), args);
  return {};
}

Status max_pool_backward(Stream& stream, const PoolArgs& args) noexcept {
  try_visit_dtype(FloatTypes{}, args.output.dtype, [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for_each_plane(pool_of(stream), args, [&](int64_t plane) { spread_plane<T, C>(args, plane); });
  });
  return {};
}

}  // namespace halftone::cpu

#endif  // HWY_ONCE
