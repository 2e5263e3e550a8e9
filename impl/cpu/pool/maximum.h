// The maximum of one window, and its index: used where windows are few or differ from each other. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <limits>

#include "backend/kernels/kernels.h"

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

// The elements of a window along a dimension: `count` of them, `step` apart, all inside the input.
struct WindowElements {
  int64_t first;
  int64_t count;
  int64_t step;
};

template <class T, class C>
Maximum<T, C> maximum_of(const View& input, const T* plane, const WindowElements& rows, const WindowElements& columns) {
  Maximum<T, C> maximum;
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t y = rows.first + i * rows.step;
    const T* row = plane + y * input.strides[2];
    for (int64_t j = 0; j < columns.count; ++j) {
      const int64_t x = columns.first + j * columns.step;
      maximum.take(row[x * input.strides[3]], y * input.shape[3] + x);
    }
  }
  return maximum;
}

}  // namespace halftone::cpu
