#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/loss/logistic.cpp"
#include <cmath>

#include "cpu/device.h"
#include "cpu/loss/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/math/gelu.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// log(1 + e) for e in [0, 1]: 2 artanh(s) with s = e / (2 + e) <= 1/3, by its series up to s^15 (remainder below 3e-9).
template <class D>
HWY_INLINE hn::Vec<D> log_of_one_plus(D d, hn::Vec<D> e) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::log1p(value); }, e);
  } else {
    const auto s = hn::Div(e, hn::Add(e, hn::Set(d, 2.0f)));
    const auto square = hn::Mul(s, s);
    auto series = hn::Set(d, 2.0f / 15);
    for (const float coefficient : {2.0f / 13, 2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3, 2.0f}) {
      series = hn::MulAdd(series, square, hn::Set(d, coefficient));
    }
    return hn::Mul(s, series);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> exp_of_negative_magnitude(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::exp(-std::fabs(value)); }, x);
  } else {
    return exponential(d, hn::Neg(hn::Abs(x)));
  }
}

// log(1 + e^-x) and log(1 + e^x), computed from e^-|x|, so neither overflows.
template <class D>
struct Penalties {
  hn::Vec<D> of_positive, of_negative;
};
template <class D>
HWY_INLINE Penalties<D> penalties(D d, hn::Vec<D> x) {
  const auto tail = log_of_one_plus(d, exp_of_negative_magnitude(d, x));
  return {hn::Add(hn::Max(hn::Neg(x), hn::Zero(d)), tail), hn::Add(hn::Max(x, hn::Zero(d)), tail)};
}

// For a target of 0 or 1 nothing is subtracted, so no digits cancel. For an infinite one the two terms are infinities
// of different sign, and the limit is that of t ((p - 1) log(1 + e^-x) - x).
template <class D, class V>
HWY_INLINE V logistic_value(D d, V x, V t, V p) {
  const auto one = hn::Set(d, hn::TFromD<D>{1});
  const auto penalty = penalties(d, x);
  const auto negative = hn::Mul(hn::Sub(one, t), penalty.of_negative);
  const auto value = hn::Add(hn::Mul(hn::Mul(p, t), penalty.of_positive), negative);
  const auto limit = hn::Mul(t, hn::MulSub(hn::Sub(p, one), penalty.of_positive, x));
  return hn::IfThenElse(hn::IsInf(t), limit, value);
}

// The derivative with respect to the targets: p log(1 + e^-x) - log(1 + e^x), in which log(1 + e^-|x|) is common to
// both: nothing cancels for p = 1, which gives -x.
template <class D, class V>
HWY_INLINE V logistic_target_slope(D d, V x, V p) {
  const auto tail = log_of_one_plus(d, exp_of_negative_magnitude(d, x));
  const auto linear = hn::Mul(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), p, hn::Set(d, hn::TFromD<D>{1})), x);
  return hn::MulSub(hn::Sub(p, hn::Set(d, hn::TFromD<D>{1})), tail, linear);
}

// The derivative with respect to the logits: (1 - t) sigmoid(x) - p t sigmoid(-x).
template <LossOperand operand, class D, class V>
HWY_INLINE V logistic_slope(D d, V x, V t, V p) {
  if constexpr (operand == LossOperand::kTarget) return logistic_target_slope(d, x, p);
  const auto one = hn::Set(d, hn::TFromD<D>{1});
  // sigmoid(x) and sigmoid(-x) from e^-|x|: both keep their digits at both ends.
  const auto e = exp_of_negative_magnitude(d, x);
  const auto larger = hn::Div(one, hn::Add(one, e));
  const auto smaller = hn::Mul(e, larger);
  const auto is_negative = hn::Lt(x, hn::Zero(d));
  const auto sigmoid = hn::IfThenElse(is_negative, smaller, larger);
  const auto complement = hn::IfThenElse(is_negative, larger, smaller);
  return hn::Sub(hn::Mul(hn::Sub(one, t), sigmoid), hn::Mul(hn::Mul(p, t), complement));
}

struct Views {
  Layout grad, logits, targets, weight, out;
  double scale;
};

template <class C>
void value_range(const Views& views, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto row = [=](const C* logits, const C* targets, const C* weight, C* out, int64_t count) HWY_ATTR {
    for_each_vector(
        d, count, [=](auto x, auto t, auto p) HWY_ATTR { return logistic_value(d, x, t, p); }, out, logits, targets,
        weight);
  };
  map_range<C>(row, views.out, begin, end, views.logits, views.targets, views.weight);
}

template <LossOperand operand, class C>
void slope_range(const Views& views, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto scale = hn::Set(d, static_cast<C>(views.scale));
  const auto row = [=](const C* grad, const C* logits, const C* targets, const C* weight, C* out, int64_t count)
                       HWY_ATTR {
                         for_each_vector(
                             d, count,
                             [=](auto g, auto x, auto t, auto p)
                                 HWY_ATTR { return hn::Mul(hn::Mul(g, scale), logistic_slope<operand>(d, x, t, p)); },
                             out, grad, logits, targets, weight);
                       };
  map_range<C>(row, views.out, begin, end, views.grad, views.logits, views.targets, views.weight);
}

template <class C>
void slopes_as(LossOperand operand, const Views& views, int64_t begin, int64_t end) {
  if (operand == LossOperand::kInput) return slope_range<LossOperand::kInput, C>(views, begin, end);
  slope_range<LossOperand::kTarget, C>(views, begin, end);
}

}  // namespace

void logistic_elements(ThreadPool& pool, const View& logits, const View& targets, const View& weight, const View& out) {
  const Views views = {Layout(logits), Layout(logits), Layout(targets), Layout(weight), Layout(out), 1};
  const auto values = out.dtype == DType::kF64 ? value_range<double> : value_range<float>;
  for_each_range(pool, out.numel(), kChunkSize / 4, [&](int64_t begin, int64_t end) { values(views, begin, end); });
}

void logistic_slopes(ThreadPool& pool, LossOperand operand, const View& grad, double scale, const View& logits,
                     const View& targets, const View& weight, const View& out) {
  const Views views = {Layout(grad), Layout(logits), Layout(targets), Layout(weight), Layout(out), scale};
  const auto slopes = out.dtype == DType::kF64 ? slopes_as<double> : slopes_as<float>;
  for_each_range(pool, out.numel(), kChunkSize / 4,
                 [&](int64_t begin, int64_t end) { slopes(operand, views, begin, end); });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(logistic_elements);
HWY_EXPORT(logistic_slopes);

Status logistic(Stream& stream, const View& logits, const View& targets, const View& positive_weight,
                const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(logistic_elements)(pool_of(stream), logits, targets, positive_weight, out);
  return {};
}

Status logistic_backward(Stream& stream, LossOperand operand, const View& grad, double scale, const View& logits,
                         const View& targets, const View& positive_weight, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(logistic_slopes)
  (pool_of(stream), operand, grad, scale, logits, targets, positive_weight, out);
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
