// Sine and cosine of vectors: FP32 in double, so that arguments may be large; double lane by lane through libm. Include
// after hwy/highway.h in files compiled once per instruction set.
#if defined(HALFTONE_CPU_MATH_TRIGONOMETRY_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_TRIGONOMETRY_H
#undef HALFTONE_CPU_MATH_TRIGONOMETRY_H
#else
#define HALFTONE_CPU_MATH_TRIGONOMETRY_H
#endif

#include <cmath>

#include "cpu/math/lanes.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// sin(x + turn pi / 2) for |x| <= 2^20. x = n pi/2 + r with |r| <= pi/4; pi/2 in two parts, the product of n with the
// upper, of 33 bits, is exact. Taylor series of sine to r^11 and of cosine to r^12: remainders below 2^-36.
template <class DD>
HWY_INLINE hn::Vec<DD> sine_of_turned(DD dd, hn::Vec<DD> x, double turn) {
  const auto n = hn::Round(hn::Mul(x, hn::Set(dd, 0x1.45f306dc9c883p-1)));
  auto r = hn::NegMulAdd(n, hn::Set(dd, 0x1.921fb544p0), x);
  r = hn::NegMulAdd(n, hn::Set(dd, 0x1.0b4611a626331p-34), r);
  const auto z = hn::Mul(r, r);
  auto sine = hn::Set(dd, -1.0 / 39916800);
  for (const double coefficient : {1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6}) {
    sine = hn::MulAdd(sine, z, hn::Set(dd, coefficient));
  }
  sine = hn::MulAdd(hn::Mul(sine, z), r, r);
  auto cosine = hn::Set(dd, 1.0 / 479001600);
  for (const double coefficient : {-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0}) {
    cosine = hn::MulAdd(cosine, z, hn::Set(dd, coefficient));
  }
  // Quarters 0 to 3 of the circle are sine, cosine, -sine, -cosine.
  const auto quarter = hn::Add(n, hn::Set(dd, turn));
  const auto half = hn::Mul(quarter, hn::Set(dd, 0.5));
  const auto is_odd = hn::Ne(hn::Floor(half), half);
  const auto circle = hn::Mul(hn::Floor(half), hn::Set(dd, 0.5));
  const auto value = hn::IfThenElse(is_odd, cosine, sine);
  return hn::IfThenElse(hn::Ne(hn::Floor(circle), circle), hn::Neg(value), value);
}

template <class D, class F>
HWY_INLINE hn::Vec<D> turned_sine(D d, hn::Vec<D> x, double turn, F&& exact) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(d, exact, x);
  } else {
    const auto is_near = hn::Le(hn::Abs(x), hn::Set(d, 0x1p20f));
    const auto result = map_as_double(
        d, [turn](auto dd, auto v) HWY_ATTR { return sine_of_turned(dd, v, turn); }, x);
    return replace_lanes(
        d, is_near, result, [&](float value) { return static_cast<float>(exact(static_cast<double>(value))); }, x);
  }
}

// FP32: within 0.6 ulp for every argument. Cases: NaN and infinities give NaN; sin(-0) is -0.
template <class D>
HWY_INLINE hn::Vec<D> sine(D d, hn::Vec<D> x) {
  const auto result = turned_sine(d, x, 0, [](double value) { return std::sin(value); });
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, result);
}

template <class D>
HWY_INLINE hn::Vec<D> cosine(D d, hn::Vec<D> x) {
  return turned_sine(d, x, 1, [](double value) { return std::cos(value); });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_MATH_TRIGONOMETRY_H
