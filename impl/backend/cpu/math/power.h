// Powers of vectors with C99's cases, and their derivatives: FP32 in double, double lane by lane through libm. Include
// after hwy/highway.h in files compiled once per instruction set.
#if defined(HALFTONE_CPU_MATH_POWER_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_POWER_H
#undef HALFTONE_CPU_MATH_POWER_H
#else
#define HALFTONE_CPU_MATH_POWER_H
#endif

#include <cmath>
#include <limits>
#include <numbers>

#include "backend/cpu/math/lanes.h"
#include "backend/cpu/math/logarithm.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Adding this leaves a whole number of less than 51 bits in the low bits of a double.
inline constexpr double kWholeMagic = 0x1.8p52;

// log2 of positive normal doubles, to 2^-43 of it: as logarithm_near_one, whose series this carries further.
template <class DD>
HWY_INLINE hn::Vec<DD> binary_logarithm(DD dd, hn::Vec<DD> x) {
  const hn::RebindToSigned<DD> di;
  const auto root = hn::Set(di, 0x3fe6a09e667f3bcd);  // sqrt(1/2)
  const auto offset = hn::Sub(hn::BitCast(di, x), root);
  const auto mantissa = hn::Add(hn::And(offset, hn::Set(di, 0xfffffffffffff)), root);
  const auto f = hn::Sub(hn::BitCast(dd, mantissa), hn::Set(dd, 1.0));
  const auto magic = hn::Set(dd, kWholeMagic);
  const auto k = hn::Sub(hn::BitCast(dd, hn::Add(hn::ShiftRight<52>(offset), hn::BitCast(di, magic))), magic);
  const auto s = hn::Div(f, hn::Add(f, hn::Set(dd, 2.0)));
  const auto z = hn::Mul(s, s);
  auto series = hn::Set(dd, 1.0 / 15);
  for (const double coefficient : {1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0}) {
    series = hn::MulAdd(series, z, hn::Set(dd, coefficient));
  }
  return hn::MulAdd(hn::Mul(s, series), hn::Set(dd, 2 * std::numbers::log2e), k);
}

// 2^x to 2^-41 of it; x is clamped to where FP32 has long overflowed or is 0.
template <class DD>
HWY_INLINE hn::Vec<DD> power_of_two(DD dd, hn::Vec<DD> x) {
  const hn::RebindToSigned<DD> di;
  const auto clamped = hn::Min(hn::Max(x, hn::Set(dd, -300.0)), hn::Set(dd, 300.0));
  const auto magic = hn::Set(dd, kWholeMagic);
  const auto shifted = hn::Add(clamped, magic);
  const auto r = hn::Mul(hn::Sub(clamped, hn::Sub(shifted, magic)), hn::Set(dd, std::numbers::ln2));
  auto series = hn::Set(dd, 1.0 / 3628800);
  for (const double coefficient :
       {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    series = hn::MulAdd(series, r, hn::Set(dd, coefficient));
  }
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  return hn::Mul(series, hn::BitCast(dd, hn::ShiftLeft<52>(hn::Add(exponent, hn::Set(di, 1023)))));
}

// x^y for finite x other than 0 and finite y: |x|^y with the sign of x where y is odd, NaN for x below 0 and y not
// whole.
template <class DF>
HWY_INLINE hn::Vec<DF> finite_power(DF df, hn::Vec<DF> x, hn::Vec<DF> y) {
  const auto size = map_as_double(
      df,
      [](auto dd, auto base, auto exponent)
          HWY_ATTR { return power_of_two(dd, hn::Mul(exponent, binary_logarithm(dd, base))); },
      hn::Abs(x), y);
  const auto half = hn::Mul(y, hn::Set(df, 0.5f));
  const auto turned = hn::IfThenElse(hn::Ne(hn::Floor(half), half), hn::Neg(size), size);
  const auto nan = hn::Set(df, std::numeric_limits<float>::quiet_NaN());
  const auto of_negative = hn::IfThenElse(hn::Eq(hn::Floor(y), y), turned, nan);
  return hn::IfThenElse(hn::Lt(x, hn::Zero(df)), of_negative, size);
}

// FP32: within 0.6 ulp. The cases of C99's pow.
template <class D>
HWY_INLINE hn::Vec<D> power(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  const auto exact = [](T a, T b) { return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b))); };
  if constexpr (kIsDouble<D>) {
    return map_lanes(d, exact, x, y);
  } else {
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const auto is_number = hn::And(hn::Lt(hn::Abs(x), infinity), hn::Lt(hn::Abs(y), infinity));
    const auto is_plain = hn::And(is_number, hn::Gt(hn::Abs(x), hn::Zero(d)));
    return replace_lanes(d, is_plain, finite_power(d, x, y), exact, x, y);
  }
}

// grad y x^(y-1), and 0 where y is 0 whatever the others are.
template <class D>
HWY_INLINE hn::Vec<D> power_base_gradient(D d, hn::Vec<D> grad, hn::Vec<D> x, hn::Vec<D> y) {
  const auto derivative = hn::Mul(y, power(d, x, hn::Sub(y, hn::Set(d, 1))));
  return hn::IfThenZeroElse(hn::Eq(y, hn::Zero(d)), hn::Mul(grad, derivative));
}

// x^y ln x; its limit 0 at x = 0 where y is not below 0; NaN for x below 0, as in PyTorch.
template <class D>
HWY_INLINE hn::Vec<D> power_exponent_derivative(D d, hn::Vec<D> x, hn::Vec<D> y) {
  const auto value = hn::Mul(power(d, x, y), logarithm(d, x));
  return hn::IfThenZeroElse(hn::And(hn::Eq(x, hn::Zero(d)), hn::Ge(y, hn::Zero(d))), value);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_MATH_POWER_H
