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

// e^x within 1.1 ulp on every instruction set. Cases: NaN stays NaN; x > 88.72 gives infinity; results below 2^-126 are
// subnormals, rounded once more; x < -103.98 gives 0.
// x = n ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series to r^7 (remainder below 6e-9); 2^n is applied as two
// factors, each a normal number for every n; only their product with e^r overflows or becomes subnormal.
template <class DF>
HWY_INLINE hn::Vec<DF> exponential(DF df, hn::Vec<DF> x) {
  const hn::RebindToSigned<DF> di;
  const auto is_nan = hn::IsNaN(x);
  const auto clamped = hn::Min(hn::Max(hn::IfThenZeroElse(is_nan, x), hn::Set(df, -104.0f)), hn::Set(df, 89.0f));
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  const auto magic = hn::Set(df, 0x1.8p23f);
  const auto shifted = hn::Add(hn::Mul(clamped, hn::Set(df, 0x1.715476p0f)), magic);
  const auto n = hn::Sub(shifted, magic);
  // ln2 in two parts; the product of n with the upper, of 15 bits, is exact.
  auto r = hn::NegMulAdd(n, hn::Set(df, 0x1.62e4p-1f), clamped);
  r = hn::NegMulAdd(n, hn::Set(df, 0x1.7f7d1cp-20f), r);

  auto series = hn::Set(df, 1.0f / 5040);
  for (const float coefficient : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f}) {
    series = hn::MulAdd(series, r, hn::Set(df, coefficient));
  }
  const auto power = hn::Add(hn::MulAdd(hn::Mul(series, r), r, r), hn::Set(df, 1.0f));

  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto half = hn::ShiftRight<1>(exponent);
  const auto power_of_two = [&](auto e)
                                HWY_ATTR { return hn::BitCast(df, hn::ShiftLeft<23>(hn::Add(e, hn::Set(di, 127)))); };
  const auto result = hn::Mul(hn::Mul(power, power_of_two(half)), power_of_two(hn::Sub(exponent, half)));
  return hn::IfThenElse(is_nan, x, result);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SIMD_EXPONENTIAL_H
