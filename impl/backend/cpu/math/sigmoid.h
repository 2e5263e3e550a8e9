// The logistic function and its kin on vectors: FP32 by exponential.h, double lane by lane through
// backend/formula/sigmoid.h, where the formulas and their cases are told. Include after hwy/highway.h in files compiled
// once per instruction set.
#if defined(HALFTONE_CPU_MATH_SIGMOID_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_MATH_SIGMOID_H
#undef HALFTONE_CPU_MATH_SIGMOID_H
#else
#define HALFTONE_CPU_MATH_SIGMOID_H
#endif

#include <cmath>

#include "backend/cpu/math/lanes.h"
#include "backend/cpu/math/logarithm.h"
#include "backend/cpu/simd/exponential.h"
#include "backend/formula/sigmoid.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// FP32: within 2.5 ulp.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::sigmoid(value); }, x);
  } else {
    const auto one = hn::Set(d, 1.0f);
    const auto e = exponential(d, hn::Neg(hn::Abs(x)));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
  }
}

// FP32: within 3 ulp or 2^-143.
template <class D>
HWY_INLINE hn::Vec<D> silu(D d, hn::Vec<D> x) {
  return hn::Mul(x, sigmoid(d, x));
}

// s + x s (1 - s), where 1 - s is the sigmoid of -x.
template <class D>
HWY_INLINE hn::Vec<D> silu_derivative(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return halftone::silu_derivative(value); }, x);
  } else {
    // Where 0 times infinity would stand the factors have reached their limits.
    const auto flat = hn::Set(d, static_cast<float>(kSigmoidFlat));
    const auto clamped = hn::Max(hn::Min(x, flat), hn::Neg(flat));
    const auto one = hn::Set(d, 1.0f);
    const auto e = exponential(d, hn::Neg(hn::Abs(clamped)));
    const auto inverse = hn::Div(one, hn::Add(one, e));
    const auto s = hn::IfThenElse(hn::Lt(clamped, hn::Zero(d)), hn::Mul(e, inverse), inverse);
    const auto bump = hn::Mul(hn::Mul(e, inverse), inverse);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::MulAdd(clamped, bump, s));
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

// FP32: within 2 ulp. Below 0.55 by the fifth convergent of Lambert's continued fraction x / (1 + x^2 / (3 + x^2 /
// (5 + ...))), as x minus a small correction (remainder below 3e-10 of the result); above as 1 - 2 / (e^2x + 1). Cases:
// NaN stays NaN; +-inf gives +-1; 0 keeps its sign.
template <class D>
HWY_INLINE hn::Vec<D> hyperbolic_tangent(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::tanh(value); }, x);
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
