// exp of FP32 vectors, safe over the whole range. Include after hwy/highway.h in files compiled once per instruction
// set.
#if defined(HALFTONE_CPU_SIMD_EXPONENTIAL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SIMD_EXPONENTIAL_H
#undef HALFTONE_CPU_SIMD_EXPONENTIAL_H
#else
#define HALFTONE_CPU_SIMD_EXPONENTIAL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// 2^exponent for exponents of normal numbers.
template <class DF>
HWY_INLINE hn::Vec<DF> whole_power_of_two(DF df, hn::Vec<hn::RebindToSigned<DF>> exponent) {
  const hn::RebindToSigned<DF> di;
  return hn::BitCast(df, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
}

// e^x = factor * 2^first * 2^second, with factor near 1. Both powers are normal numbers, so only a product with both of
// them overflows or becomes subnormal.
template <class DF>
struct SplitExponential {
  hn::Vec<DF> factor;
  hn::Vec<hn::RebindToSigned<DF>> first, second;
};

// REQUIRES: |x| <= 170, not NaN.
// x = n ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series to r^7 (remainder below 6e-9); n = first + second.
template <class DF>
HWY_INLINE SplitExponential<DF> split_exponential(DF df, hn::Vec<DF> x) {
  const hn::RebindToSigned<DF> di;
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  const auto magic = hn::Set(df, 0x1.8p23f);
  const auto shifted = hn::Add(hn::Mul(x, hn::Set(df, 0x1.715476p0f)), magic);
  const auto n = hn::Sub(shifted, magic);
  // ln2 in two parts; the product of n with the upper, of 15 bits, is exact.
  auto r = hn::NegMulAdd(n, hn::Set(df, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(n, hn::Set(df, 0x1.7f7d1cp-20f), r);

  auto series = hn::Set(df, 1.0f / 5040);
  for (const float coefficient : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f}) {
    series = hn::MulAdd(series, r, hn::Set(df, coefficient));
  }
  const auto factor = hn::Add(hn::MulAdd(hn::Mul(series, r), r, r), hn::Set(df, 1.0f));
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto first = hn::ShiftRight<1>(exponent);
  return {factor, first, hn::Sub(exponent, first)};
}

// e^x within 1.1 ulp on every instruction set. Cases: NaN stays NaN; x > 88.72 gives infinity; results below 2^-126 are
// subnormals, rounded once more; x < -103.98 gives 0.
template <class DF>
HWY_INLINE hn::Vec<DF> exponential(DF df, hn::Vec<DF> x) {
  const auto is_nan = hn::IsNaN(x);
  const auto clamped = hn::Min(hn::Max(hn::IfThenZeroElse(is_nan, x), hn::Set(df, -104.0f)), hn::Set(df, 89.0f));
  const auto e = split_exponential(df, clamped);
  const auto scaled = hn::Mul(e.factor, whole_power_of_two(df, e.first));
  return hn::IfThenElse(is_nan, x, hn::Mul(scaled, whole_power_of_two(df, e.second)));
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SIMD_EXPONENTIAL_H
