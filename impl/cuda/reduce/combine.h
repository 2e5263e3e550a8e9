// The ways to combine two terms, and the state of no terms. int64 wraps around on overflow. Device code.
#pragma once

#include <cmath>
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

// A sum in double of tiles of C, float or double, which are added in C unless that overflows. Large terms of f64 are
// added apart, multiplied by kShare, so that their mean is finite.
struct WideSum {
  static constexpr double kShare = 0x1p-64;
  double low;
  double high;

  template <class C, int K>
  HALFTONE_DEVICE void add(const C (&values)[K]) {
    const C sum = combined<Plus>(values);
    if (std::isfinite(sum) && (!std::is_same_v<C, double> || std::fabs(sum) < 0x1p900)) {
      low += static_cast<double>(sum);
    } else {
      for (int k = 0; k < K; ++k) add_one(static_cast<double>(values[k]));
    }
  }
  HALFTONE_DEVICE void add_one(double x) {
    if (std::fabs(x) > 0x1p900) {
      high += kShare * x;
    } else {
      low += x;
    }
  }
  HALFTONE_DEVICE static WideSum of(const WideSum& a, const WideSum& b) { return {a.low + b.low, a.high + b.high}; }
  // scale * the sum
  HALFTONE_DEVICE double total(double scale) const { return low * scale + high * scale / kShare; }
};

}  // namespace halftone::cuda
