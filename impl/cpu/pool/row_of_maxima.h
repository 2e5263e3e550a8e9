// Maxima of windows of any shape, and partly outside of the input, for the positions of one row. The loops along rows
// are plain; the compiler vectorises them for each instruction set. For kernel files that Highway compiles once per
// instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_POOL_ROW_OF_MAXIMA_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_POOL_ROW_OF_MAXIMA_H
#undef HALFTONE_CPU_POOL_ROW_OF_MAXIMA_H
#else
#define HALFTONE_CPU_POOL_ROW_OF_MAXIMA_H
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/pool/spans.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Positions of a row that are computed together; their maxima and indices stay in L1.
inline constexpr int64_t kPositions = 256;

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

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_POOL_ROW_OF_MAXIMA_H
