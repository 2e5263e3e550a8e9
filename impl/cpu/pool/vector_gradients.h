// Gradients of pairs of columns, for many windows of a row at once: a lane is a window. For kernel files that Highway
// compiles once per instruction set: include after hwy/highway.h. Pure functions, any thread.
#if defined(HALFTONE_CPU_POOL_VECTOR_GRADIENTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_POOL_VECTOR_GRADIENTS_H
#undef HALFTONE_CPU_POOL_VECTOR_GRADIENTS_H
#else
#define HALFTONE_CPU_POOL_VECTOR_GRADIENTS_H
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/pool/interleaved.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> load_indices(D, const int32_t* in) {
  const hn::RebindToSigned<D> di;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(int32_t)) {
    return hn::LoadU(di, in);
  } else {
    return hn::PromoteTo(di, hn::LoadU(hn::Rebind<int32_t, D>(), in));
  }
}

// As store_gradients, in whole vectors of D, the last of which overlaps the one before it. REQUIRES: count >= Lanes(d).
template <class D, class T, class G>
void store_gradients_of_vectors(D d, const T* grad, const int32_t* indices, int64_t count, int64_t index, G* out) {
  const hn::RebindToSigned<D> di;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto lane_numbers = hn::Iota(di, 0);
  const auto twice = hn::Add(lane_numbers, lane_numbers);
  for (int64_t x = 0; x < count; x += lanes) {
    const int64_t at = std::min(x, count - lanes);
    // As the sum of 0 and the gradient: -0 becomes 0.
    const auto value = hn::Add(hn::Zero(d), widen(d, grad + at));
    const auto chosen = load_indices(d, indices + at);
    const auto even = hn::Add(twice, hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(index + 2 * at)));
    const auto odd = hn::Add(even, hn::Set(di, 1));
    store_pairs(d, hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(chosen, even)), value),
                hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(chosen, odd)), value), out + 2 * at);
  }
}

// The fewest windows that vectors are used for.
inline constexpr int64_t kFewestGradients = 4;

// The gradients of `count` windows go to the pairs of elements from `out` on, the first of which has the index `index`:
// each element gets the gradient of its window if the window chose it, else 0. G is T or the compute type C.
// REQUIRES: count >= kFewestGradients.
template <class C, class T, class G>
void store_gradients(const T* grad, const int32_t* indices, int64_t count, int64_t index, G* out) {
  const hn::CappedTag<C, 16> whole;
  const hn::CappedTag<C, 8> half;
  const hn::CappedTag<C, 4> quarter;
  if (count >= static_cast<int64_t>(hn::Lanes(whole))) {
    store_gradients_of_vectors(whole, grad, indices, count, index, out);
  } else if (count >= static_cast<int64_t>(hn::Lanes(half))) {
    store_gradients_of_vectors(half, grad, indices, count, index, out);
  } else {
    store_gradients_of_vectors(quarter, grad, indices, count, index, out);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_POOL_VECTOR_GRADIENTS_H
