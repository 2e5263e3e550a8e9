// Natural logarithms of FP32 vectors; double goes lane by lane through libm. Include after hwy/highway.h in files
// compiled once per instruction set.
#if defined(HALFTONE_CPU_MATH_LOGARITHM_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_LOGARITHM_H
#undef HALFTONE_CPU_MATH_LOGARITHM_H
#else
#define HALFTONE_CPU_MATH_LOGARITHM_H
#endif

#include <cmath>
#include <limits>

#include "cpu/math/lanes.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ln(1 + f) + k ln 2 for f in [sqrt(1/2) - 1, sqrt(2) - 1] and whole |k| <= 512. With s = f / (2 + f) the logarithm is
// 2 atanh(s) = 2s + s R(s^2), R by its Taylor series (remainder below 2^-28 of the result); since 2s = f - s f, writing
// it as f - (f^2/2 - s (f^2/2 + R)) leaves f, which is exact, as the leading term.
template <class DF>
HWY_INLINE hn::Vec<DF> logarithm_near_one(DF df, hn::Vec<DF> f, hn::Vec<DF> k) {
  const auto s = hn::Div(f, hn::Add(f, hn::Set(df, 2.0f)));
  const auto z = hn::Mul(s, s);
  auto series = hn::Set(df, 2.0f / 9);
  for (const float coefficient : {2.0f / 7, 2.0f / 5, 2.0f / 3}) {
    series = hn::MulAdd(series, z, hn::Set(df, coefficient));
  }
  const auto half_square = hn::Mul(hn::Mul(f, f), hn::Set(df, 0.5f));
  const auto curve = hn::Mul(s, hn::MulAdd(series, z, half_square));
  // ln 2 in two parts; the product of k with the upper, of 15 bits, is exact.
  const auto low = hn::MulAdd(k, hn::Set(df, 0x1.7f7d1cp-20f), curve);
  return hn::MulAdd(k, hn::Set(df, 0x1.62e4p-1f), hn::Sub(f, hn::Sub(half_square, low)));
}

// ln x, FP32 within 1 ulp. Cases: NaN stays NaN; +inf stays; 0 of either sign gives -inf; below 0 gives NaN; subnormals
// are scaled up first.
template <class D>
HWY_INLINE hn::Vec<D> logarithm(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::log(value); }, x);
  } else {
    const hn::RebindToSigned<D> di;
    const auto is_tiny = hn::Lt(x, hn::Set(d, 0x1p-126f));
    const auto scaled = hn::IfThenElse(is_tiny, hn::Mul(x, hn::Set(d, 0x1p25f)), x);
    // x = (1 + f) 2^k with 1 + f in [sqrt(1/2), sqrt(2)): counted from the bits of sqrt(1/2).
    const auto root = hn::Set(di, 0x3f3504f3);
    const auto offset = hn::Sub(hn::BitCast(di, scaled), root);
    const auto mantissa = hn::Add(hn::And(offset, hn::Set(di, 0x7fffff)), root);
    const auto f = hn::Sub(hn::BitCast(d, mantissa), hn::Set(d, 1.0f));
    const auto exponent = hn::ConvertTo(d, hn::ShiftRight<23>(offset));
    const auto k = hn::Sub(exponent, hn::IfThenElseZero(is_tiny, hn::Set(d, 25.0f)));
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    auto result = hn::IfThenElse(hn::Lt(x, infinity), logarithm_near_one(d, f, k), x);
    result = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), result);
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), result);
  }
}

// ln(1 + x) for FP32 x in [0, 1], within 2 ulp; NaN stays NaN.
template <class DF>
HWY_INLINE hn::Vec<DF> logarithm_of_one_plus(DF df, hn::Vec<DF> x) {
  const auto one = hn::Set(df, 1.0f);
  const auto is_halved = hn::Gt(x, hn::Set(df, 0x1.a8279ap-2f));  // 1 + x above sqrt(2)
  const auto f = hn::IfThenElse(is_halved, hn::Mul(hn::Sub(x, one), hn::Set(df, 0.5f)), x);
  return logarithm_near_one(df, f, hn::IfThenElseZero(is_halved, one));
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_MATH_LOGARITHM_H
