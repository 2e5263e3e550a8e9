// Functions of scalars on vectors, lane by lane, and FP32 vectors computed in double. Include after hwy/highway.h in
// files compiled once per instruction set.
#if defined(HALFTONE_CPU_MATH_LANES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_LANES_H
#undef HALFTONE_CPU_MATH_LANES_H
#else
#define HALFTONE_CPU_MATH_LANES_H
#endif

#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kIsDouble = std::is_same_v<hn::TFromD<D>, double>;

// A vector's lanes in memory.
template <class D>
struct Lanes {
  HWY_INLINE Lanes(D d, hn::Vec<D> x) { hn::Store(x, d, lane); }
  alignas(64) hn::TFromD<D> lane[hn::MaxLanes(D())];
};

template <class D, class F, class... L>
HWY_INLINE hn::Vec<D> map_stored_lanes(D d, F&& f, const L&... x) {
  alignas(64) hn::TFromD<D> result[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::Lanes(d); ++i) result[i] = f(x.lane[i]...);
  return hn::Load(d, result);
}

// f(lane of x...) for every lane.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> map_lanes(D d, F&& f, V... x) {
  return map_stored_lanes(d, f, Lanes<D>(d, x)...);
}

// Returns `fast` in the lanes of `keep`, f(lane of x...) in the others. A lane's result must not depend on the other
// lanes, or the bits of a result would depend on the layout. So f never replaces the lanes of `keep`.
template <class D, class F, class... V>
HWY_INLINE hn::Vec<D> replace_lanes(D d, hn::Mask<D> keep, hn::Vec<D> fast, F&& f, V... x) {
  if (hn::AllTrue(d, keep)) [[likely]]
    return fast;
  return hn::IfThenElse(keep, fast, map_lanes(d, f, x...));
}

// Rounds to FP32, beyond its range to infinity; Highway's portable demotion would stop at the largest number.
template <class DD>
HWY_INLINE void store_as_float(DD dd, hn::Vec<DD> x, float* out) {
  if constexpr ((HWY_TARGET & (HWY_SCALAR | HWY_EMU128)) != 0) {
    const Lanes<DD> lanes(dd, x);
    for (size_t i = 0; i < hn::Lanes(dd); ++i) out[i] = static_cast<float>(lanes.lane[i]);
  } else {
    const hn::Rebind<float, DD> df;
    hn::StoreU(hn::DemoteTo(df, x), df, out);
  }
}

template <class DF, class F, class... L>
HWY_INLINE hn::Vec<DF> map_stored_as_double(DF df, F&& f, const L&... x) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> d_part;
  alignas(64) float result[hn::MaxLanes(DF())];
  for (size_t i = 0; i < hn::Lanes(df); i += hn::Lanes(dd)) {
    store_as_float(dd, f(dd, hn::PromoteTo(dd, hn::LoadU(d_part, x.lane + i))...), result + i);
  }
  return hn::Load(df, result);
}

// f(dd, x in vectors of double...), rounded once to FP32.
template <class DF, class F, class... V>
HWY_INLINE hn::Vec<DF> map_as_double(DF df, F&& f, V... x) {
  return map_stored_as_double(df, f, Lanes<DF>(df, x)...);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_MATH_LANES_H
