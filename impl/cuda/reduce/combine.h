// The ways to combine two terms, and the state of no terms. int64 wraps around on overflow. Device code.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cuda/base/device_code.h"

namespace halftone::cuda {

struct Plus {
  template <class C>
  HALFTONE_DEVICE static C none() {
    return C(0);
  }
  template <class C>
  HALFTONE_DEVICE static C of(C a, C b) {
    if constexpr (!std::is_integral_v<C>) return a + b;
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};

struct Times {
  template <class C>
  HALFTONE_DEVICE static C none() {
    return C(1);
  }
  template <class C>
  HALFTONE_DEVICE static C of(C a, C b) {
    if constexpr (!std::is_integral_v<C>) return a * b;
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};

// NaN wins in minima and maxima.
struct Larger {
  template <class C>
  HALFTONE_DEVICE static C none() {
    if constexpr (std::is_integral_v<C>) return std::numeric_limits<C>::min();
    return -std::numeric_limits<C>::infinity();
  }
  template <class C>
  HALFTONE_DEVICE static C of(C a, C b) {
    return a > b || a != a ? a : b;
  }
};

struct Smaller {
  template <class C>
  HALFTONE_DEVICE static C none() {
    if constexpr (std::is_integral_v<C>) return std::numeric_limits<C>::max();
    return std::numeric_limits<C>::infinity();
  }
  template <class C>
  HALFTONE_DEVICE static C of(C a, C b) {
    return a < b || a != a ? a : b;
  }
};

// Combines K values in registers as a tree.
template <class Combine, class C, int K>
HALFTONE_DEVICE inline C combined(const C (&values)[K]) {
  static_assert((K & (K - 1)) == 0);
  C tree[K];
#pragma unroll
  for (int k = 0; k < K; ++k) tree[k] = values[k];
#pragma unroll
  for (int half = K / 2; half > 0; half /= 2) {
#pragma unroll
    for (int k = 0; k < half; ++k) tree[k] = Combine::template of<C>(tree[k], tree[k + half]);
  }
  return tree[0];
}

}  // namespace halftone::cuda
