// Maxima of adaptive windows. Window sizes vary, so each window is computed on its own. Pure functions, any thread.
#pragma once

#include <limits>

#include "cpu/pool/spans.h"

namespace halftone::cpu {

// The maximum of a window so far. `take` REQUIRES rising indices, so that the first of equal maxima stays. NaN replaces
// any value.
template <class T, class C>
struct Maximum {
  C value = -std::numeric_limits<C>::infinity();
  int32_t index = -1;

  void take(T element, int64_t at) {
    const C candidate = static_cast<C>(element);
    if (index >= 0 && !(candidate > value) && candidate == candidate) return;
    value = candidate;
    index = static_cast<int32_t>(at);
  }
  T narrowed() const {
    if constexpr (requires { T::from(0.0f); }) {
      return T::from(value);
    } else {
      return value;
    }
  }
};

template <class T, class C>
Maximum<T, C> maximum_of(const PoolArgs& args, const T* plane, const Span& rows, const Span& columns) {
  Maximum<T, C> maximum;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    const T* row = plane + y * args.input.strides[2];
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      maximum.take(row[x * args.input.strides[3]], y * args.input.shape[3] + x);
    }
  }
  return maximum;
}

template <class T, class C>
void adaptive_max_of_plane(const PoolArgs& args, int64_t plane) {
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  int32_t* indices = plane_at<int32_t>(args.indices, plane);
  for (int64_t y = 0; y < args.output.shape[2]; ++y) {
    const Span rows = span_at(args, 0, y);
    for (int64_t x = 0; x < args.output.shape[3]; ++x) {
      const Maximum<T, C> maximum = maximum_of<T, C>(args, in, rows, span_at(args, 1, x));
      *out++ = maximum.narrowed();
      *indices++ = maximum.index;
    }
  }
}

}  // namespace halftone::cpu
