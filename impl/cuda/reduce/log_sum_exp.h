// The sum of the exponentials of many numbers, kept relative to the largest of them so that it does not overflow.
// Softmax, cross entropy and log_sum_exp go over their terms once with it. Device code.
#pragma once

#include <cmath>
#include <limits>

#include "cuda/base/device_code.h"
#include "cuda/reduce/combine.h"

namespace halftone::cuda {

// `sum` is the sum of exp(x - shift()). NaN may be skipped in `largest`, but makes the sum NaN.
template <class C>
struct ExpSum {
  C largest;
  C sum;

  // The largest number where it is finite: the differences to an infinite one would be NaN.
  HALFTONE_DEVICE C shift() const {
    constexpr C kMost = std::numeric_limits<C>::max();
    return largest > kMost ? kMost : (largest < -kMost ? -kMost : largest);
  }
  // -inf for no numbers and for -inf alone, +inf with +inf; NaN wins.
  HALFTONE_DEVICE C log() const { return shift() + std::log(sum); }
  // The sum of exp(x - largest): NaN for a row of only -inf and one with +inf.
  HALFTONE_DEVICE C sum_below_largest() const {
    return std::isinf(largest) ? std::numeric_limits<C>::quiet_NaN() : sum;
  }
};

template <class C>
HALFTONE_DEVICE inline ExpSum<C> no_exp_sum() {
  return {-std::numeric_limits<C>::infinity(), C(0)};
}

template <class C>
HALFTONE_DEVICE inline ExpSum<C> joined(const ExpSum<C>& a, const ExpSum<C>& b) {
  ExpSum<C> both = {a.largest > b.largest ? a.largest : b.largest, C(0)};
  both.sum = a.sum * std::exp(a.shift() - both.shift()) + b.sum * std::exp(b.shift() - both.shift());
  return both;
}

template <class C, int K>
HALFTONE_DEVICE inline void add_exps(ExpSum<C>& to, const C (&values)[K]) {
  ExpSum<C> both = to;
#pragma unroll
  for (int k = 0; k < K; ++k) both.largest = values[k] > both.largest ? values[k] : both.largest;
  const C shift = both.shift();
  C exps[K];
#pragma unroll
  for (int k = 0; k < K; ++k) exps[k] = std::exp(values[k] - shift);
  if (both.largest > to.largest) both.sum *= std::exp(to.shift() - shift);
  both.sum += combined<Plus>(exps);
  to = both;
}

}  // namespace halftone::cuda
