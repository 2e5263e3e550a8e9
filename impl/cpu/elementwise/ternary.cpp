#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/ternary.cpp"
#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/elementwise/formulas.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/math/power.h"
#include "cpu/math/sigmoid.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// From the nearer end, so that a weight of 1 gives b exactly.
template <class D, class V>
HWY_INLINE V lerp(D d, V a, V b, V weight) {
  const auto difference = hn::Sub(b, a);
  const auto from_a = hn::Add(a, hn::Mul(weight, difference));
  const auto from_b = hn::Sub(b, hn::Mul(difference, hn::Sub(hn::Set(d, 1), weight)));
  return hn::IfThenElse(hn::Lt(hn::Abs(weight), hn::Set(d, 0.5)), from_a, from_b);
}

template <TernaryOp op, class D, class V>
HWY_INLINE V apply(D d, V a, V b, V c) {
  if constexpr (op == TernaryOp::kWhere) return hn::IfThenElse(hn::Eq(a, hn::Zero(d)), c, b);
  // If either is NaN both sides pass the gradient, as in PyTorch.
  if constexpr (op == TernaryOp::kMaximumBackward) {
    const auto shared = hn::IfThenElse(hn::Eq(b, c), hn::Mul(a, hn::Set(d, 0.5)), a);
    return hn::IfThenZeroElse(hn::Lt(b, c), shared);
  }
  if constexpr (op == TernaryOp::kLerp) return lerp(d, a, b, c);
  if constexpr (op == TernaryOp::kPreluBackward) return hn::IfThenElse(hn::Gt(b, hn::Zero(d)), a, hn::Mul(a, c));
  // 1 - s is the sigmoid of -c.
  if constexpr (op == TernaryOp::kGluBackward) {
    return hn::Mul(hn::Mul(a, b), hn::Mul(sigmoid(d, c), sigmoid(d, hn::Neg(c))));
  }
  if constexpr (op == TernaryOp::kPowerBaseBackward) return power_base_gradient(d, a, b, c);
  if constexpr (op == TernaryOp::kPowerExponentBackward) return power_exponent_gradient(d, a, b, c);
}

template <TernaryOp op, class C>
void row(const C* a, const C* b, const C* c, C* out, int64_t count) {
  if constexpr (std::is_integral_v<C>) {
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] != 0 ? b[i] : c[i];
  } else if constexpr (formula_of(op) == nullptr) {
    const hn::ScalableTag<C> d;
    for_each_vector(
        d, count, [&](auto x, auto y, auto z) HWY_ATTR { return apply<op>(d, x, y, z); }, out, a, b, c);
  }
}

template <class C>
using Row = void (*)(const C*, const C*, const C*, C*, int64_t);

inline constexpr auto kAllOps = std::make_index_sequence<static_cast<size_t>(TernaryOp::kEnd)>();

template <class C, size_t... op>
Row<C> row_of(TernaryOp wanted, std::index_sequence<op...>) {
  static constexpr Row<C> kRows[] = {row<static_cast<TernaryOp>(op), C>...};
  return kRows[static_cast<size_t>(wanted)];
}

// `views`: the three inputs, then the output.
void ternary_range(TernaryOp op, const Layout* views, int64_t begin, int64_t end) {
  with_compute_type(views[3].dtype(), [&]<class C>() {
    if constexpr (std::is_floating_point_v<C>) {
      if (const TernaryFormula formula = formula_of(op)) {
        return map_range<C>(row_of_formula<C>(formula), views[3], begin, end, views[0], views[1], views[2]);
      }
    }
    map_range<C>(row_of<C>(op, kAllOps), views[3], begin, end, views[0], views[1], views[2]);
  });
}

// Products and sum are rounded separately, so that every instruction set gives the same bits (some have no FMA).
template <class C>
void addcmul_row(C value, const C* x, const C* a, const C* b, C* out, int64_t count) {
  if constexpr (std::is_integral_v<C>) {
    // Computes in unsigned integers, so that overflow wraps.
    const auto wrapped = [](C number) { return static_cast<uint64_t>(number); };
    for (int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<C>(wrapped(x[i]) + wrapped(value) * wrapped(a[i]) * wrapped(b[i]));
    }
  } else {
    const hn::ScalableTag<C> d;
    const auto factor = hn::Set(d, value);
    for_each_vector(
        d, count, [=](auto addend, auto u, auto v) HWY_ATTR { return hn::Add(addend, hn::Mul(hn::Mul(factor, u), v)); },
        out, x, a, b);
  }
}

// Rounded as addcmul_row. There is no form for integers.
template <class C>
void addcdiv_row(C value, const C* x, const C* a, const C* b, C* out, int64_t count) {
  if constexpr (std::is_floating_point_v<C>) {
    const hn::ScalableTag<C> d;
    const auto factor = hn::Set(d, value);
    for_each_vector(
        d, count, [=](auto addend, auto u, auto v) HWY_ATTR { return hn::Add(addend, hn::Div(hn::Mul(factor, u), v)); },
        out, x, a, b);
  }
}

// `views`: the three inputs, then the output. The row is a pointer, so that both operations share the loop over tiles.
void add_scaled_range(bool divides, double value, const Layout* views, int64_t begin, int64_t end) {
  with_compute_type(views[3].dtype(), [&]<class C>() {
    const auto scaled = divides ? addcdiv_row<C> : addcmul_row<C>;
    const auto row = [=](const C* x, const C* a, const C* b, C* out, int64_t count) {
      scaled(static_cast<C>(value), x, a, b, out, count);
    };
    map_range<C>(row, views[3], begin, end, views[0], views[1], views[2]);
  });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(ternary_range);
HWY_EXPORT(add_scaled_range);

namespace {

// Powers, sigmoids and formulas cost several times more per element.
int64_t grain_of(TernaryOp op) { return op <= TernaryOp::kPreluBackward ? kChunkSize : kChunkSize / 4; }

Status add_scaled(Stream& stream, bool divides, double value, const Layout* views, int64_t count) {
  const auto range = HWY_DYNAMIC_DISPATCH(add_scaled_range);
  for_each_range(pool_of(stream), count, [&](int64_t begin, int64_t end) { range(divides, value, views, begin, end); });
  return {};
}

}  // namespace

Status ternary(Stream& stream, TernaryOp op, const View& a, const View& b, const View& c, const View& out) noexcept {
  if (!is_float(out.dtype) && op != TernaryOp::kWhere) {
    return Status::failure(Code::kUnsupported, "this operation has no kernel for %s", name_of(out.dtype));
  }
  if (op == TernaryOp::kPowerBaseBackward && is_one_wide_exponent(c, out)) return power_backward(stream, a, b, c, out);
  const Layout views[] = {Layout(a), Layout(b), Layout(c), Layout(out)};
  const auto range = HWY_DYNAMIC_DISPATCH(ternary_range);
  for_each_range(pool_of(stream), out.numel(), grain_of(op),
                 [&](int64_t begin, int64_t end) { range(op, views, begin, end); });
  return {};
}

Status addcmul(Stream& stream, double value, const View& x, const View& a, const View& b, const View& out) noexcept {
  const Layout views[] = {Layout(x), Layout(a), Layout(b), Layout(out)};
  return add_scaled(stream, false, value, views, out.numel());
}

Status addcdiv(Stream& stream, double value, const View& x, const View& a, const View& b, const View& out) noexcept {
  if (!is_float(out.dtype)) {
    return Status::failure(Code::kUnsupported, "addcdiv has no kernel for %s", name_of(out.dtype));
  }
  const Layout views[] = {Layout(x), Layout(a), Layout(b), Layout(out)};
  return add_scaled(stream, true, value, views, out.numel());
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
