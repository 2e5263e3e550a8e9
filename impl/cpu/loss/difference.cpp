#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/loss/difference.cpp"
#include <cmath>

#include "cpu/device.h"
#include "cpu/loss/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/math/gelu.h"
#include "cpu/math/logarithm.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class D>
HWY_INLINE hn::Vec<D> exp_of(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::exp(value); }, x);
  } else {
    return exponential(d, x);
  }
}

// Returns -1, 0 or 1; NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> sign_of(D d, hn::Vec<D> x) {
  const auto signed_one = hn::CopySign(hn::Set(d, hn::TFromD<D>{1}), x);
  return hn::IfThenElse(hn::Eq(hn::Abs(x), hn::Zero(d)), hn::Zero(d), hn::IfThenElse(hn::IsNaN(x), x, signed_one));
}

// The least logarithm of a probability, so that a loss and a gradient stay finite at 0 and 1. Below it NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> bounded_log(D d, hn::Vec<D> logarithm) {
  const auto least = hn::Set(d, hn::TFromD<D>{-100});
  return hn::IfThenElse(hn::Lt(logarithm, least), least, logarithm);
}

// ln(1 - x). Near 0 the difference would round the digits of x away.
template <class D>
HWY_INLINE hn::Vec<D> log_of_complement(D d, hn::Vec<D> x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::log1p(-value); }, x);
  } else {
    const auto near = logarithm_near_one(d, hn::Neg(x), hn::Zero(d));
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0.29f)), near, logarithm(d, hn::Sub(hn::Set(d, 1.0f), x)));
  }
}

template <LossOp op, class D, class V>
HWY_INLINE V value_of(D d, V beta, V x, V t) {
  using C = hn::TFromD<D>;
  const auto half = hn::Set(d, C(0.5));
  const auto distance = hn::Abs(hn::Sub(x, t));
  if constexpr (op == LossOp::kSquared) return hn::Mul(distance, distance);
  if constexpr (op == LossOp::kAbsolute) return distance;
  if constexpr (op == LossOp::kSmoothAbsolute) {
    const auto near = hn::Mul(hn::Mul(half, distance), hn::Div(distance, beta));
    return hn::IfThenElse(hn::Lt(distance, beta), near, hn::Sub(distance, hn::Mul(half, beta)));
  }
  if constexpr (op == LossOp::kKlDivergence) {
    const auto entropy = hn::IfThenZeroElse(hn::Eq(t, hn::Zero(d)), hn::Mul(t, logarithm(d, t)));
    return hn::Sub(entropy, hn::Mul(t, x));
  }
  if constexpr (op == LossOp::kKlDivergenceOfLogs) return hn::Mul(exp_of(d, t), hn::Sub(t, x));
  if constexpr (op == LossOp::kHuber) {
    const auto far = hn::Mul(beta, hn::Sub(distance, hn::Mul(half, beta)));
    return hn::IfThenElse(hn::Lt(distance, beta), hn::Mul(hn::Mul(half, distance), distance), far);
  }
  if constexpr (op == LossOp::kBinaryCrossEntropy) {
    const auto negative = hn::Mul(hn::Sub(t, hn::Set(d, C{1})), bounded_log(d, log_of_complement(d, x)));
    return hn::Sub(negative, hn::Mul(t, bounded_log(d, logarithm(d, x))));
  }
}

// The derivative with respect to the input. For losses of the difference, the derivative with respect to the target is
// its negative.
template <LossOp op, class D, class V>
HWY_INLINE V input_slope_of(D d, V beta, V x, V t) {
  const auto difference = hn::Sub(x, t);
  if constexpr (op == LossOp::kSquared) return hn::Add(difference, difference);
  if constexpr (op == LossOp::kAbsolute) return sign_of(d, difference);
  if constexpr (op == LossOp::kSmoothAbsolute) {
    return hn::IfThenElse(hn::Lt(hn::Abs(difference), beta), hn::Div(difference, beta), sign_of(d, difference));
  }
  if constexpr (op == LossOp::kKlDivergence) return hn::Neg(t);
  if constexpr (op == LossOp::kKlDivergenceOfLogs) return hn::Neg(exp_of(d, t));
  if constexpr (op == LossOp::kHuber) {
    return hn::IfThenElse(hn::Lt(hn::Abs(difference), beta), difference, hn::Mul(beta, sign_of(d, difference)));
  }
  if constexpr (op == LossOp::kBinaryCrossEntropy) {
    const auto spread = hn::Mul(x, hn::Sub(hn::Set(d, hn::TFromD<D>{1}), x));
    const auto least = hn::Set(d, static_cast<hn::TFromD<D>>(1e-12));
    return hn::Div(difference, hn::IfThenElse(hn::Lt(spread, least), least, spread));
  }
}

template <LossOp op, LossOperand operand, class D, class V>
HWY_INLINE V slope_of(D d, V beta, V x, V t) {
  const auto one = hn::Set(d, hn::TFromD<D>{1});
  if constexpr (operand == LossOperand::kInput) return input_slope_of<op>(d, beta, x, t);
  if constexpr (op == LossOp::kKlDivergence) return hn::Sub(hn::Add(logarithm(d, t), one), x);
  if constexpr (op == LossOp::kKlDivergenceOfLogs) return hn::Mul(exp_of(d, t), hn::Add(hn::Sub(t, x), one));
  if constexpr (op == LossOp::kBinaryCrossEntropy) {
    return hn::Sub(bounded_log(d, log_of_complement(d, x)), bounded_log(d, logarithm(d, x)));
  }
  return hn::Neg(input_slope_of<op>(d, beta, x, t));
}

struct Views {
  Layout grad, input, target, out;
  double beta, scale;
};

template <LossOp op, class C>
void value_range(const Views& views, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto beta = hn::Set(d, static_cast<C>(views.beta));
  const auto row = [=](const C* input, const C* target, C* out, int64_t count) HWY_ATTR {
    for_each_vector(
        d, count, [=](auto x, auto t) HWY_ATTR { return value_of<op>(d, beta, x, t); }, out, input, target);
  };
  map_range<C>(row, views.out, begin, end, views.input, views.target);
}

template <LossOp op, LossOperand operand, class C>
void slope_range(const Views& views, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto beta = hn::Set(d, static_cast<C>(views.beta));
  const auto scale = hn::Set(d, static_cast<C>(views.scale));
  const auto row = [=](const C* grad, const C* input, const C* target, C* out, int64_t count) HWY_ATTR {
    for_each_vector(
        d, count,
        [=](auto g, auto x, auto t)
            HWY_ATTR { return hn::Mul(hn::Mul(g, scale), slope_of<op, operand>(d, beta, x, t)); },
        out, grad, input, target);
  };
  map_range<C>(row, views.out, begin, end, views.grad, views.input, views.target);
}

// Calls f.operator()<op>().
template <class F>
void with_loss(LossOp op, F&& f) {
  switch (op) {
    case LossOp::kSquared:
      return f.template operator()<LossOp::kSquared>();
    case LossOp::kAbsolute:
      return f.template operator()<LossOp::kAbsolute>();
    case LossOp::kSmoothAbsolute:
      return f.template operator()<LossOp::kSmoothAbsolute>();
    case LossOp::kKlDivergence:
      return f.template operator()<LossOp::kKlDivergence>();
    case LossOp::kKlDivergenceOfLogs:
      return f.template operator()<LossOp::kKlDivergenceOfLogs>();
    case LossOp::kHuber:
      return f.template operator()<LossOp::kHuber>();
    case LossOp::kBinaryCrossEntropy:
      return f.template operator()<LossOp::kBinaryCrossEntropy>();
  }
}

template <class C>
void slopes_as(LossOp op, LossOperand operand, const Views& views, int64_t begin, int64_t end) {
  with_loss(op, [&]<LossOp loss>() {
    if (operand == LossOperand::kInput) return slope_range<loss, LossOperand::kInput, C>(views, begin, end);
    slope_range<loss, LossOperand::kTarget, C>(views, begin, end);
  });
}

}  // namespace

void loss_elements(LossOp op, double beta, const View& input, const View& target, const View& out, ThreadPool& pool) {
  const Views views = {Layout(input), Layout(input), Layout(target), Layout(out), beta, 1};
  for_each_range(pool, out.numel(), kChunkSize / 4, [&](int64_t begin, int64_t end) {
    with_loss(op, [&]<LossOp loss>() {
      if (out.dtype == DType::kF64) return value_range<loss, double>(views, begin, end);
      value_range<loss, float>(views, begin, end);
    });
  });
}

void loss_slopes(LossOp op, LossOperand operand, const View& grad, const View& input, const View& target,
                 const View& out, double beta, double scale, ThreadPool& pool) {
  const Views views = {Layout(grad), Layout(input), Layout(target), Layout(out), beta, scale};
  const auto slopes = out.dtype == DType::kF64 ? slopes_as<double> : slopes_as<float>;
  for_each_range(pool, out.numel(), kChunkSize / 4,
                 [&](int64_t begin, int64_t end) { slopes(op, operand, views, begin, end); });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(loss_elements);
HWY_EXPORT(loss_slopes);

Status loss(Stream& stream, LossOp op, double beta, const View& input, const View& target, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(loss_elements)(op, beta, input, target, out, pool_of(stream));
  return {};
}

Status loss_backward(Stream& stream, LossOp op, double beta, LossOperand operand, const View& grad, double scale,
                     const View& input, const View& target, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(loss_slopes)(op, operand, grad, input, target, out, beta, scale, pool_of(stream));
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
