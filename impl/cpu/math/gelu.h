// GELU and its derivative on vectors: FP32 by formulas of its own, double lane by lane through backend/formula/gelu.h,
// which lists the formulas and their cases. Include after hwy/highway.h in files compiled once per instruction set.
#if defined(HALFTONE_CPU_SIMD_GELU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SIMD_GELU_H
#undef HALFTONE_CPU_SIMD_GELU_H
#else
#define HALFTONE_CPU_SIMD_GELU_H
#endif

#include <numbers>

#include "backend/formula/gelu.h"
#include "cpu/math/exponential.h"
#include "cpu/math/lanes.h"
#include "cpu/math/sigmoid.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The factor e^(-x^2 / 2) of the normal density.
template <class DF>
HWY_INLINE hn::Vec<DF> bell(DF df, hn::Vec<DF> x) {
  return exponential(df, hn::Mul(hn::Mul(x, x), hn::Set(df, -0.5f)));
}

// Up to this |x|, P is formed as 1/2 + x R(x^2).
inline constexpr float kNearZero = 0.7f;

// P(x) from bell(x). Near 0, R is the minimax polynomial of relative error 1.4e-9. Else the lower tail is P(-t) =
// e^(-t^2 / 2) q(u) with u = 1 / (1 + 0.35 t); q is the minimax polynomial of relative error 3.2e-8 on [0, 15], found
// by Remez' exchange. The upper half is 1 - P(-t).
template <class DF>
HWY_INLINE hn::Vec<DF> normal_distribution(DF df, hn::Vec<DF> x, hn::Vec<DF> bell_of_x) {
  const auto one = hn::Set(df, 1.0f);
  const auto u = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(df, 0.35f), one));
  auto q = hn::Set(df, -0x1.ddd204p-6f);
  for (const float coefficient : {0x1.270922p-3f, -0x1.060ae8p-2f, 0x1.466f44p-3f, -0x1.7d24b6p-6f, 0x1.b06ee8p-4f,
                                  0x1.eac3bap-4f, 0x1.1e7130p-3f, 0x1.1df1c0p-3f}) {
    q = hn::MulAdd(q, u, hn::Set(df, coefficient));
  }
  const auto tail = hn::Mul(hn::Mul(q, u), bell_of_x);
  const auto far = hn::IfThenElse(hn::Lt(x, hn::Zero(df)), tail, hn::Sub(one, tail));
  const auto z = hn::Mul(x, x);
  auto r = hn::Set(df, 0x1.b545b2p-14f);
  for (const float coefficient : {-0x1.35fd04p-10f, 0x1.46c914p-7f, -0x1.10582ap-4f, 0x1.988454p-2f}) {
    r = hn::MulAdd(r, z, hn::Set(df, coefficient));
  }
  const auto near = hn::MulAdd(x, r, hn::Set(df, 0.5f));
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(df, kNearZero)), near, far);
}

// FP32: within 2^-22 |x| of the exact value.
template <class D>
HWY_INLINE hn::Vec<D> gelu_erf(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::gelu_erf(value); }, x);
  } else {
    return hn::Mul(x, normal_distribution(d, x, bell(d, x)));
  }
}

// FP32: within 2^-22 of the exact value.
template <class D>
HWY_INLINE hn::Vec<D> gelu_erf_derivative(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::gelu_erf_derivative(value); }, x);
  } else {
    const auto flat = hn::Set(d, static_cast<float>(kGeluFlat));
    const auto clamped = hn::Max(hn::Min(x, flat), hn::Neg(flat));
    const auto e = bell(d, clamped);
    const auto density = hn::Mul(e, hn::Set(d, static_cast<float>(0.5 * kGeluScale)));
    return hn::MulAdd(clamped, density, normal_distribution(d, x, e));
  }
}

// 2u and, in the derivative, its slope.
template <class DF>
HWY_INLINE hn::Vec<DF> gelu_twice_u(DF df, hn::Vec<DF> x) {
  const auto square = hn::Mul(x, x);
  const auto factor = hn::MulAdd(square, hn::Set(df, static_cast<float>(2 * kGeluScale * kGeluCubic)),
                                 hn::Set(df, static_cast<float>(2 * kGeluScale)));
  return hn::Mul(x, factor);
}

// FP32: within 2^-22 |x| of the exact value.
template <class D>
HWY_INLINE hn::Vec<D> gelu_tanh(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::gelu_tanh(value); }, x);
  } else {
    return gated(d, x, gelu_twice_u(d, x));
  }
}

// FP32: within 2^-22 of the exact value.
template <class D>
HWY_INLINE hn::Vec<D> gelu_tanh_derivative(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::gelu_tanh_derivative(value); }, x);
  } else {
    const auto one = hn::Set(d, 1.0f);
    const auto flat = hn::Set(d, static_cast<float>(kGeluFlat));
    const auto clamped = hn::Max(hn::Min(x, flat), hn::Neg(flat));
    const auto twice_u = gelu_twice_u(d, clamped);
    const auto slope =
        hn::MulAdd(hn::Mul(clamped, clamped), hn::Set(d, static_cast<float>(6 * kGeluScale * kGeluCubic)),
                   hn::Set(d, static_cast<float>(2 * kGeluScale)));
    const auto e = exponential(d, hn::Neg(hn::Abs(twice_u)));
    const auto inverse = hn::Div(one, hn::Add(one, e));
    const auto s = hn::IfThenElse(hn::Lt(twice_u, hn::Zero(d)), hn::Mul(e, inverse), inverse);
    const auto bump = hn::Mul(hn::Mul(e, hn::Mul(inverse, inverse)), slope);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::MulAdd(clamped, bump, s));
  }
}

// ---- The tanh form for BF16: about half of the instructions, at errors far below BF16's roundings.

// 2^x for x <= 0 within 2^-22 of the value, or 2^-149 if that is more; 0 below -150. NaN gives any number.
template <class DF>
HWY_INLINE hn::Vec<DF> short_power_of_two(DF df, hn::Vec<DF> x) {
  const auto magic = hn::Set(df, 0x1.8p23f);
  const auto clamped = hn::Max(x, hn::Set(df, -200.0f));
  const auto shifted = hn::Add(clamped, magic);
  const auto n = hn::Sub(shifted, magic);
  const auto f = hn::Sub(clamped, n);
  // The minimax polynomial of relative error 7.5e-8 on [-0.5, 0.5], found by Remez' exchange.
  auto p = hn::Set(df, 0x1.5c08e6p-10f);
  for (const float coefficient : {0x1.3d0c52p-7f, 0x1.c6b6e4p-5f, 0x1.ebf918p-3f, 0x1.62e428p-1f, 0x1.000002p+0f}) {
    p = hn::MulAdd(p, f, hn::Set(df, coefficient));
  }
#if HWY_TARGET == HWY_AVX3
  // One instruction for 2^n, subnormals included. gcc 12 warns of the form without a mask.
  return decltype(p){_mm512_maskz_scalef_ps(0xffff, p.raw, n.raw)};
#else
  const hn::RebindToSigned<DF> di;
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const auto first = hn::ShiftRight<1>(exponent);
  const auto scaled = hn::Mul(p, whole_power_of_two(df, first));
  return hn::Mul(scaled, whole_power_of_two(df, hn::Sub(exponent, first)));
#endif
}

// -|2u| / ln 2, of which s(2u) and its slope are made.
template <class DF>
HWY_INLINE hn::Vec<DF> gelu_exponent(DF df, hn::Vec<DF> x, hn::Vec<DF> square) {
  constexpr double kSlope = 2 * kGeluScale * std::numbers::log2e;
  const auto factor =
      hn::MulAdd(square, hn::Set(df, static_cast<float>(kSlope * kGeluCubic)), hn::Set(df, static_cast<float>(kSlope)));
  return hn::Neg(hn::Mul(hn::Abs(x), factor));
}

// Within 2^-20 |x| of the exact value, and in the lower tail within 2^-16 of itself where that is more than 2^-134.
// Cases as in backend/formula/gelu.h: 0 times -infinity is NaN.
template <class DF>
HWY_INLINE hn::Vec<DF> short_gelu_tanh(DF df, hn::Vec<DF> x) {
  const auto e = short_power_of_two(df, gelu_exponent(df, x, hn::Mul(x, x)));
  const auto product = hn::IfThenElse(hn::Lt(x, hn::Zero(df)), hn::Mul(x, e), x);
  return hn::Div(product, hn::Add(e, hn::Set(df, 1.0f)));
}

// Within 2^-20 of the exact value.
template <class DF>
HWY_INLINE hn::Vec<DF> short_gelu_tanh_derivative(DF df, hn::Vec<DF> x) {
  const auto one = hn::Set(df, 1.0f);
  const auto flat = hn::Set(df, static_cast<float>(kGeluFlat));
  const auto clamped = hn::Max(hn::Min(x, flat), hn::Neg(flat));
  const auto square = hn::Mul(clamped, clamped);
  const auto slope = hn::MulAdd(square, hn::Set(df, static_cast<float>(6 * kGeluScale * kGeluCubic)),
                                hn::Set(df, static_cast<float>(2 * kGeluScale)));
  const auto e = short_power_of_two(df, gelu_exponent(df, clamped, square));
  const auto inverse = hn::Div(one, hn::Add(one, e));
  const auto complement = hn::Mul(e, inverse);
  const auto s = hn::IfThenElse(hn::Lt(x, hn::Zero(df)), complement, inverse);
  const auto bump = hn::Mul(hn::Mul(complement, inverse), hn::Mul(clamped, slope));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Add(s, bump));
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SIMD_GELU_H
