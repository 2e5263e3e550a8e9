// The logistic function and activations made of it, on vectors: FP32 by exponential.h, double lane by lane through
// backend/formula/sigmoid.h, which lists the formulas and their cases. Include after hwy/highway.h in files compiled
// once per instruction set.
#if defined(HALFTONE_CPU_MATH_SIGMOID_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_SIGMOID_H
#undef HALFTONE_CPU_MATH_SIGMOID_H
#else
#define HALFTONE_CPU_MATH_SIGMOID_H
#endif

#include "backend/formula/hyperbolic_tangent.h"
#include "backend/formula/sigmoid.h"
#include "cpu/math/exponential.h"
#include "cpu/math/lanes.h"
#include "cpu/math/logarithm.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// FP32: within 2.5 ulp; near 1 within one, as 1 - sigmoid(-x): backward reads 1 - sigmoid(x) from the result.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::sigmoid(value); }, x);
  } else {
    const auto one = hn::Set(d, 1.0f);
    const auto e = exponential(d, hn::Neg(hn::Abs(x)));
    const auto smaller = hn::Div(e, hn::Add(one, e));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), smaller, hn::Sub(one, smaller));
  }
}

// Beyond this, e^-|x| and 2^10 e^-|x| are 0 in FP32.
inline constexpr float kTailEnd = 112.0f;

// FP32 x sigmoid(y), as x / (1 + e^-y), for x of the sign of y and |x| <= 2^10 where y is below -kTailEnd.
// For a y far below 0, e^-y may overflow before the result becomes 0. There 1 + e^-y rounds to e^-y, so x is divided by
// factor * 2^first, and then by 2^second. Cases: below -kTailEnd the result is 0 with the sign of x, and NaN
// where x is infinite.
template <class DF>
HWY_INLINE hn::Vec<DF> gated(DF df, hn::Vec<DF> x, hn::Vec<DF> y) {
  const auto limit = hn::Set(df, kTailEnd);
  const auto opposite = hn::Neg(hn::IfThenZeroElse(hn::IsNaN(y), y));
  const auto e = split_exponential(df, hn::Min(hn::Max(opposite, hn::Neg(limit)), limit));
  const auto scaled = hn::Mul(e.factor, whole_power_of_two(df, e.first));
  const auto sum = hn::MulAdd(scaled, whole_power_of_two(df, e.second), hn::Set(df, 1.0f));
  const auto is_far = hn::Lt(y, hn::Set(df, -64.0f));
  const auto quotient = hn::Div(x, hn::IfThenElse(is_far, scaled, sum));
  const auto rest = hn::IfThenElseZero(hn::Ge(y, hn::Neg(limit)), whole_power_of_two(df, hn::Neg(e.second)));
  return hn::IfThenElse(is_far, hn::Mul(quotient, rest), quotient);
}

// FP32: within 2.5 ulp.
template <class D>
HWY_INLINE hn::Vec<D> silu(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::silu(value); }, x);
  } else {
    return gated(d, x, x);
  }
}

// s + x s (1 - s) = s (1 + x (1 - s)), where 1 - s is the sigmoid of -x. Below 0 the last power of two of e^x comes in
// at the end, since x e^x may be normal where e^x is not. At the infinities the factors have reached their limits.
template <class D>
HWY_INLINE hn::Vec<D> silu_derivative(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::silu_derivative(value); }, x);
  } else {
    const auto one = hn::Set(d, 1.0f);
    const auto limit = hn::Set(d, kTailEnd);
    const auto number = hn::IfThenZeroElse(hn::IsNaN(x), x);
    const auto clamped = hn::Max(hn::Min(number, limit), hn::Neg(limit));
    const auto e = split_exponential(d, hn::Neg(hn::Abs(clamped)));
    const auto second = whole_power_of_two(d, e.second);
    const auto scaled = hn::Mul(e.factor, whole_power_of_two(d, e.first));
    const auto whole = hn::Mul(scaled, second);
    const auto inverse = hn::Div(one, hn::Add(one, whole));
    const auto is_negative = hn::Lt(clamped, hn::Zero(d));
    const auto s = hn::IfThenElse(is_negative, hn::Mul(scaled, inverse), inverse);
    const auto complement = hn::IfThenElse(is_negative, inverse, hn::Mul(whole, inverse));
    const auto slope = hn::Mul(s, hn::MulAdd(clamped, complement, one));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(is_negative, hn::Mul(slope, second), slope));
  }
}

// FP32: within 2 ulp.
template <class D>
HWY_INLINE hn::Vec<D> softplus(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::softplus(value); }, x);
  } else {
    const auto e = exponential(d, hn::Neg(hn::Abs(x)));
    return hn::Add(hn::ZeroIfNegative(x), logarithm_of_one_plus(d, e));
  }
}

// ln sigmoid(x) = min(x, 0) - ln(1 + e^-|x|). FP32: within 2 ulp. NaN is not below 0; the logarithm brings it back.
template <class D>
HWY_INLINE hn::Vec<D> log_sigmoid(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::log_sigmoid(value); }, x);
  } else {
    const auto e = exponential(d, hn::Neg(hn::Abs(x)));
    const auto below = hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), x);
    return hn::Sub(below, logarithm_of_one_plus(d, e));
  }
}

// FP32: within 2 ulp. Below 0.55 by the fifth convergent of Lambert's continued fraction x / (1 + x^2 / (3 + x^2 /
// (5 + ...))), as x minus a small correction (remainder below 3e-10 of the result); above as 1 - 2 / (e^2x + 1). Cases:
// NaN stays NaN; +-inf gives +-1; 0 keeps its sign.
template <class D>
HWY_INLINE hn::Vec<D> hyperbolic_tangent(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::hyperbolic_tangent(value); }, x);
  } else {
    const auto one = hn::Set(d, 1.0f);
    const auto size = hn::Abs(x);
    const auto z = hn::Mul(x, x);
    const auto numerator = hn::Mul(z, hn::MulAdd(z, hn::Set(d, 14.0f), hn::Set(d, 315.0f)));
    const auto slope = hn::MulAdd(z, hn::Set(d, 15.0f), hn::Set(d, 420.0f));
    const auto denominator = hn::MulAdd(z, slope, hn::Set(d, 945.0f));
    const auto near = hn::NegMulAdd(size, hn::Div(numerator, denominator), size);
    const auto e = exponential(d, hn::Add(size, size));
    const auto far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
    return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.55f)), near, far), x);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_MATH_SIGMOID_H
