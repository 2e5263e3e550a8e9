// Maxima of windows that lie inside the input, for many positions of a row at once: a lane is a position. For kernel
// files that Highway compiles once per instruction set: include after hwy/highway.h. Pure functions, any thread.
#if defined(HALFTONE_CPU_POOL_VECTOR_MAXIMA_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_POOL_VECTOR_MAXIMA_H
#undef HALFTONE_CPU_POOL_VECTOR_MAXIMA_H
#else
#define HALFTONE_CPU_POOL_VECTOR_MAXIMA_H
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/pool/interleaved.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// The elements of the windows of one row of positions. Steps are between neighbours of a window: in memory for rows,
// and as indices of the plane.
struct WindowTaps {
  int64_t rows;
  int64_t columns;
  int64_t row_step;
  int64_t row_index_step;
  int64_t column_step;
};

// The memory for the results of a row of positions, and the index of the first position's first element.
template <class T>
struct MaximaTarget {
  T* values;
  int32_t* indices;
  int64_t first_index;
};

template <class DI>
HWY_INLINE void store_indices(DI di, VectorOf<DI> indices, int32_t* out) {
  if constexpr (sizeof(hn::TFromD<DI>) == sizeof(int32_t)) {
    hn::StoreU(indices, di, out);
  } else {
    const hn::Rebind<uint32_t, DI> d32;
    const auto words = hn::TruncateTo(d32, hn::BitCast(hn::RebindToUnsigned<DI>(), indices));
    hn::StoreU(hn::BitCast(hn::RebindToSigned<decltype(d32)>(), words), hn::RebindToSigned<decltype(d32)>(), out);
  }
}

// The largest element so far, and its place: its index less that of the window's first element. NaN replaces any value.
template <class D>
struct LargestOfLanes {
  using DI = hn::RebindToSigned<D>;
  VectorOf<D> value;
  VectorOf<DI> place;

  HWY_INLINE void take(VectorOf<D> candidate, int64_t at) {
    const auto takes = hn::Or(hn::Gt(candidate, value), hn::IsNaN(candidate));
    value = hn::IfThenElse(takes, candidate, value);
    const auto here = hn::Set(DI(), static_cast<hn::TFromD<DI>>(at));
    place = hn::IfThenElse(hn::RebindMask(DI(), takes), here, place);
  }
};

// The windows of one vector of positions; `in` is the first element of the first of them. Elements of a window's row
// are loaded kStride at a time. If they are no multiple of it, the last load begins earlier, so that nothing outside of
// the windows is read. REQUIRES: taps.columns >= kStride; kStride == 1 or taps.column_step == 1.
template <int kStride, class D, class T>
HWY_INLINE LargestOfLanes<D> largest_of_lanes(D d, const WindowTaps& taps, const T* in) {
  // If all elements are -inf, none is taken: the first one has place 0.
  LargestOfLanes<D> largest = {hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity()),
                               hn::Zero(hn::RebindToSigned<D>())};
  for (int64_t i = 0; i < taps.rows; ++i, in += taps.row_step) {
    for (int64_t j = 0; j < taps.columns; j += kStride) {
      const int64_t first = std::min(j, taps.columns - kStride);
      const auto loaded = load_interleaved<kStride>(d, in + first * taps.column_step);
      for (int t = 0; t < kStride; ++t) {
        if (first + t < j) continue;
        largest.take(loaded.part[t], i * taps.row_index_step + (first + t) * taps.column_step);
      }
    }
  }
  return largest;
}

// Whole vectors of D, the last of which overlaps the one before it. REQUIRES: count >= Lanes(d).
template <int kStride, class D, class T>
void store_maxima_of_vectors(D d, const WindowTaps& taps, const T* in, int64_t count, const MaximaTarget<T>& target) {
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lane_numbers = hn::Iota(di, 0);
  auto index_steps = lane_numbers;
  for (int i = 1; i < kStride; ++i) index_steps = hn::Add(index_steps, lane_numbers);
  for (int64_t x = 0; x < count; x += lanes) {
    const int64_t at = std::min(x, count - lanes);
    const auto largest = largest_of_lanes<kStride>(d, taps, in + at * kStride);
    const auto first = hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(target.first_index + at * kStride));
    narrow(d, largest.value, target.values + at);
    store_indices(di, hn::Add(hn::Add(first, index_steps), largest.place), target.indices + at);
  }
}

// The fewest positions that vectors are used for.
inline constexpr int64_t kFewestPositions = 4;

// Stores the maxima of `count` positions that are kStride columns apart; `in` is the first element of the first
// window. Short rows use short vectors. REQUIRES: as largest_of_lanes; count >= kFewestPositions.
template <int kStride, class C, class T>
void store_maxima(const WindowTaps& taps, const T* in, int64_t count, const MaximaTarget<T>& target) {
  const hn::CappedTag<C, 16> whole;
  const hn::CappedTag<C, 8> half;
  const hn::CappedTag<C, 4> quarter;
  if (count >= static_cast<int64_t>(hn::Lanes(whole))) {
    store_maxima_of_vectors<kStride>(whole, taps, in, count, target);
  } else if (count >= static_cast<int64_t>(hn::Lanes(half))) {
    store_maxima_of_vectors<kStride>(half, taps, in, count, target);
  } else {
    store_maxima_of_vectors<kStride>(quarter, taps, in, count, target);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_POOL_VECTOR_MAXIMA_H
