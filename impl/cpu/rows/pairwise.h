// Pairwise sums, whose rounding error grows with the logarithm of the number of terms, and products, minima and maxima
// in the same order. The order depends on the number of terms alone, so every instruction set and every number of
// threads gives the same bits. For kernel files that Highway compiles once per instruction set: include after
// hwy/highway.h.
#if defined(HALFTONE_CPU_REDUCE_PAIRWISE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_REDUCE_PAIRWISE_H
#undef HALFTONE_CPU_REDUCE_PAIRWISE_H
#else
#define HALFTONE_CPU_REDUCE_PAIRWISE_H
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// int64 wraps around on overflow.
template <class C>
HWY_INLINE C plus(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// int64 wraps around on overflow.
template <class C>
HWY_INLINE C times(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class C>
inline constexpr C kLowest = std::is_integral_v<C> ? std::numeric_limits<C>::min()
                                                   : -std::numeric_limits<C>::infinity();
template <class C>
inline constexpr C kHighest = std::is_integral_v<C> ? std::numeric_limits<C>::max()
                                                    : std::numeric_limits<C>::infinity();

// The combination of two terms (`of`), and the value of an empty reduction (`kNone`). NaN wins in minima and maxima.
struct Plus {
  template <class C>
  static constexpr C kNone = C{0};
  template <class C>
  static HWY_INLINE C of(C a, C b) {
    return plus(a, b);
  }
};
struct Times {
  template <class C>
  static constexpr C kNone = C{1};
  template <class C>
  static HWY_INLINE C of(C a, C b) {
    return times(a, b);
  }
};
struct Larger {
  template <class C>
  static constexpr C kNone = kLowest<C>;
  template <class C>
  static HWY_INLINE C of(C a, C b) {
    return (static_cast<int>(a > b) | static_cast<int>(a != a)) != 0 ? a : b;
  }
};
struct Smaller {
  template <class C>
  static constexpr C kNone = kHighest<C>;
  template <class C>
  static HWY_INLINE C of(C a, C b) {
    return (static_cast<int>(a < b) | static_cast<int>(a != a)) != 0 ? a : b;
  }
};

// Combines the upper half of a row with the lower until one element is left. Overwrites the row. REQUIRES: count > 0.
template <class Combine = Plus, class C>
HWY_INLINE C fold(C* row, int64_t count) {
  while (count > 1) {
    const int64_t half = (count + 1) / 2;
    const C* HWY_RESTRICT upper = row + half;
    C* HWY_RESTRICT lower = row;
    for (int64_t i = 0; i < count - half; ++i) lower[i] = Combine::of(lower[i], upper[i]);
    count = half;
  }
  return row[0];
}

// Reduces term(i) for i < count, for blocks of a few hundred terms: rows of 32 are combined lane by lane in memory
// order, then the lanes are folded. REQUIRES: count > 0.
template <class Combine, class C, class F>
HWY_INLINE C fold_block(int64_t count, F&& term) {
  constexpr int64_t kLanes = 32;
  alignas(64) C lanes[kLanes];
  const int64_t used = std::min(count, kLanes);
  for (int64_t i = 0; i < used; ++i) lanes[i] = term(i);
  int64_t row = kLanes;
  for (; row + kLanes <= count; row += kLanes) {
    for (int64_t i = 0; i < kLanes; ++i) lanes[i] = Combine::of(lanes[i], term(row + i));
  }
  for (int64_t i = 0; row + i < count; ++i) lanes[i] = Combine::of(lanes[i], term(row + i));
  return fold<Combine>(lanes, used);
}

template <class C, class F>
HWY_INLINE C sum_of_block(int64_t count, F&& term) {
  return fold_block<Plus, C>(count, term);
}

// `width` parallel reductions over a sequence of rows. Works like a binary counter: level k, if occupied, holds the
// result of 2^k rows, and adding a row carries equal levels upwards. The last level collects everything beyond.
template <class Combine, class C, int64_t width>
class PairwiseFold {
 public:
  // Overwrites `row`.
  HWY_INLINE void add(C* HWY_RESTRICT row) {
    int level = 0;
    for (; level < kLast && is_occupied(level); ++level) add_to(row, levels_[level]);
    if (is_occupied(level)) add_to(row, levels_[level]);
    for (int64_t i = 0; i < width; ++i) levels_[level][i] = row[i];
    ++rows_;
    if (rows_ >> kLast == 2) rows_ -= uint64_t{1} << kLast;
  }

  // The result of all rows; kNone if there was none.
  HWY_INLINE void total(C* HWY_RESTRICT out) const {
    for (int64_t i = 0; i < width; ++i) out[i] = Combine::template kNone<C>;
    for (int level = 0; level <= kLast; ++level) {
      if (is_occupied(level)) add_to(out, levels_[level]);
    }
  }

 private:
  static constexpr int kLast = 23;

  HWY_INLINE bool is_occupied(int level) const { return (rows_ >> level & 1) != 0; }
  static HWY_INLINE void add_to(C* HWY_RESTRICT row, const C* HWY_RESTRICT other) {
    for (int64_t i = 0; i < width; ++i) row[i] = Combine::of(row[i], other[i]);
  }

  uint64_t rows_ = 0;
  C levels_[kLast + 1][width];
};

template <class C, int64_t width>
using PairwiseSum = PairwiseFold<Plus, C, width>;

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_REDUCE_PAIRWISE_H
