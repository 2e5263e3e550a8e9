// Powers of vectors with C99's cases, and their slopes times a gradient: FP32 in double, double lane by lane through
// backend/formula/power.h, which lists the cases. Include after hwy/highway.h in files compiled once per instruction
// set.
#if defined(HALFTONE_CPU_MATH_POWER_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_POWER_H
#undef HALFTONE_CPU_MATH_POWER_H
#else
#define HALFTONE_CPU_MATH_POWER_H
#endif

#include <cmath>
#include <limits>
#include <numbers>

#include "backend/formula/power.h"
#include "cpu/math/lanes.h"
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

// 2^x to 2^-41 of it; x is clamped to where its product with any two FP32 has long overflowed or is 0.
template <class DD>
HWY_INLINE hn::Vec<DD> power_of_two(DD dd, hn::Vec<DD> x) {
  const hn::RebindToSigned<DD> di;
  const auto clamped = hn::Min(hn::Max(x, hn::Set(dd, -700.0)), hn::Set(dd, 700.0));
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

// The lanes whose exponent is whole, and those whose half is not.
template <class DF>
struct Parities {
  hn::Mask<DF> is_whole, is_odd;
};

template <class DF>
HWY_INLINE Parities<DF> parities_of(DF df, hn::Vec<DF> y) {
  const auto half = hn::Mul(y, hn::Set(df, 0.5f));
  return {hn::Eq(hn::Floor(y), y), hn::Ne(hn::Floor(half), half)};
}

// The parities of y - 1, also for a y so large that y - 1 rounds to y.
template <class DF>
HWY_INLINE Parities<DF> parities_of_less_one(DF df, hn::Vec<DF> y) {
  const auto half = hn::Mul(y, hn::Set(df, 0.5f));
  return {hn::Eq(hn::Floor(y), y), hn::Eq(hn::Floor(half), half)};
}

// One parity for all lanes.
template <class DF>
HWY_INLINE Parities<DF> parities_of(DF df, Parity parity) {
  const auto one = hn::Set(df, 1.0f);
  return {hn::Eq(hn::Set(df, parity == Parity::kNone ? 0.0f : 1.0f), one),
          hn::Eq(hn::Set(df, parity == Parity::kOdd ? 1.0f : 0.0f), one)};
}

// The power of x from that of |x|: NaN for x below 0 and an exponent that is not whole.
template <class DF>
HWY_INLINE hn::Vec<DF> with_sign_of_power(DF df, hn::Vec<DF> size, hn::Vec<DF> x, Parities<DF> parities) {
  const auto turned = hn::IfThenElse(parities.is_odd, hn::Neg(size), size);
  const auto nan = hn::Set(df, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Lt(x, hn::Zero(df)), hn::IfThenElse(parities.is_whole, turned, nan), size);
}

// Finite and not 0.
template <class DF>
HWY_INLINE hn::Mask<DF> is_plain_base(DF df, hn::Vec<DF> x) {
  const auto size = hn::Abs(x);
  return hn::And(hn::Gt(size, hn::Zero(df)), hn::Lt(size, hn::Set(df, std::numeric_limits<float>::infinity())));
}

template <class DF>
HWY_INLINE hn::Mask<DF> is_finite(DF df, hn::Vec<DF> x) {
  return hn::Lt(hn::Abs(x), hn::Set(df, std::numeric_limits<float>::infinity()));
}

// FP32: within 0.6 ulp.
template <class D>
HWY_INLINE hn::Vec<D> power(D d, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  const auto exact = [](T a, T b) { return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b))); };
  if constexpr (kIsDouble<D>) {
    return map_lanes(d, exact, x, y);
  } else {
    const auto size = map_as_double(
        d,
        [](auto dd, auto base, auto exponent)
            HWY_ATTR { return power_of_two(dd, hn::Mul(exponent, binary_logarithm(dd, base))); },
        hn::Abs(x), y);
    const auto is_plain = hn::And(is_plain_base(d, x), is_finite(d, y));
    return replace_lanes(d, is_plain, with_sign_of_power(d, size, x, parities_of(d, y)), exact, x, y);
  }
}

// x^y in FP32 for one exponent.
template <class DF>
HWY_INLINE hn::Vec<DF> power(DF df, hn::Vec<DF> x, OneExponent y) {
  const auto exact = [y](float a) { return static_cast<float>(std::pow(static_cast<double>(a), y.value)); };
  const auto size = map_as_double(
      df,
      [y](auto dd, auto base)
          HWY_ATTR { return power_of_two(dd, hn::Mul(hn::Set(dd, y.value), binary_logarithm(dd, base))); },
      hn::Abs(x));
  const auto signed_size = with_sign_of_power(df, size, x, parities_of(df, y.parity));
  return replace_lanes(df, is_plain_base(df, x), signed_size, exact, x);
}

// |grad y x^(y-1)| with the sign of grad y, in double.
template <class DD>
HWY_INLINE hn::Vec<DD> base_gradient_of_size(DD dd, hn::Vec<DD> grad, hn::Vec<DD> base, hn::Vec<DD> y) {
  const auto less_one = hn::Sub(y, hn::Set(dd, 1.0));
  return hn::Mul(grad, hn::Mul(y, power_of_two(dd, hn::Mul(less_one, binary_logarithm(dd, base)))));
}

// grad y x^(y-1), and 0 where y is 0 whatever the others are. FP32: within 0.6 ulp.
template <class D>
HWY_INLINE hn::Vec<D> power_base_gradient(D d, hn::Vec<D> grad, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  const auto exact = [](T g, T a, T b) { return static_cast<T>(g * power_base_slope(a, b)); };
  const auto is_constant = hn::Eq(y, hn::Zero(d));
  if constexpr (kIsDouble<D>) {
    return hn::IfThenZeroElse(is_constant, map_lanes(d, exact, grad, x, y));
  } else {
    const auto size = map_as_double(
        d,
        [](auto dd, auto g, auto base, auto exponent) HWY_ATTR { return base_gradient_of_size(dd, g, base, exponent); },
        grad, hn::Abs(x), y);
    const auto gradient = with_sign_of_power(d, size, x, parities_of_less_one(d, y));
    const auto is_plain = hn::And(is_plain_base(d, x), is_finite(d, y));
    return hn::IfThenZeroElse(is_constant, replace_lanes(d, is_plain, gradient, exact, grad, x, y));
  }
}

// grad y x^(y-1) in FP32 for one exponent.
template <class DF>
HWY_INLINE hn::Vec<DF> power_base_gradient(DF df, hn::Vec<DF> grad, hn::Vec<DF> x, OneExponent y) {
  const auto exact = [y](float g, float a) { return static_cast<float>(g * power_base_slope(a, y.value)); };
  if (y.value == 0) return hn::Zero(df);
  const auto size = map_as_double(
      df, [y](auto dd, auto g, auto base) HWY_ATTR { return base_gradient_of_size(dd, g, base, hn::Set(dd, y.value)); },
      grad, hn::Abs(x));
  const auto gradient = with_sign_of_power(df, size, x, parities_of(df, y.parity_of_less_one));
  return replace_lanes(df, is_plain_base(df, x), gradient, exact, grad, x);
}

// grad x^y ln x. FP32: within 0.6 ulp.
template <class D>
HWY_INLINE hn::Vec<D> power_exponent_gradient(D d, hn::Vec<D> grad, hn::Vec<D> x, hn::Vec<D> y) {
  using T = hn::TFromD<D>;
  const auto exact = [](T g, T a, T b) { return static_cast<T>(g * power_exponent_slope(a, b)); };
  if constexpr (kIsDouble<D>) {
    return map_lanes(d, exact, grad, x, y);
  } else {
    const auto above_zero = map_as_double(
        d,
        [](auto dd, auto g, auto base, auto exponent) HWY_ATTR {
          const auto logarithm = binary_logarithm(dd, base);
          const auto slope = hn::Mul(hn::Mul(logarithm, hn::Set(dd, std::numbers::ln2)),
                                     power_of_two(dd, hn::Mul(exponent, logarithm)));
          return hn::Mul(g, slope);
        },
        grad, hn::Abs(x), y);
    const auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    const auto gradient = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), nan, above_zero);
    const auto is_plain = hn::And(is_plain_base(d, x), is_finite(d, y));
    return replace_lanes(d, is_plain, gradient, exact, grad, x, y);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_MATH_POWER_H
