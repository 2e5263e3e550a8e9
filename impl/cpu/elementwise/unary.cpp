#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/unary.cpp"
#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/elementwise/formulas.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/math/gelu.h"
#include "cpu/math/logarithm.h"
#include "cpu/math/sigmoid.h"
#include "cpu/math/trigonometry.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class D, class V>
HWY_INLINE V exponential_of(D d, V x) {
  if constexpr (kIsDouble<D>) {
    return map_lanes(
        d, [](double value) { return std::exp(value); }, x);
  } else {
    return exponential(d, x);
  }
}

// NaN is neither above nor below 0.
template <class D, class V>
HWY_INLINE V sign(D d, V x) {
  const auto zero = hn::Zero(d);
  const auto below = hn::IfThenElseZero(hn::Lt(x, zero), hn::Set(d, -1));
  return hn::IfThenElse(hn::Gt(x, zero), hn::Set(d, 1), below);
}

// x times min(max(x + 3, 0), 6) / 6, which is at most 1, so that a large x does not overflow; NaN stays NaN.
template <class D, class V>
HWY_INLINE V hardswish(D d, V x) {
  const auto shifted = hn::Add(x, hn::Set(d, 3));
  const auto raised = hn::IfThenElse(hn::Lt(shifted, hn::Zero(d)), hn::Zero(d), shifted);
  const auto bounded = hn::IfThenElse(hn::Gt(raised, hn::Set(d, 6)), hn::Set(d, 6), raised);
  return hn::Mul(x, hn::Div(bounded, hn::Set(d, 6)));
}

template <UnaryOp op, class D, class V>
HWY_INLINE V apply(D d, V x) {
  if constexpr (op == UnaryOp::kNegate) return hn::Neg(x);
  if constexpr (op == UnaryOp::kAbs) return hn::Abs(x);
  if constexpr (op == UnaryOp::kSign) return sign(d, x);
  // NaN is not <= 0, so it stays; -0 becomes 0.
  if constexpr (op == UnaryOp::kRelu) return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
  if constexpr (op == UnaryOp::kGeluErf) return gelu_erf(d, x);
  if constexpr (op == UnaryOp::kGeluTanh) return gelu_tanh(d, x);
  if constexpr (op == UnaryOp::kExp) return exponential_of(d, x);
  if constexpr (op == UnaryOp::kLog) return logarithm(d, x);
  if constexpr (op == UnaryOp::kSqrt) return hn::Sqrt(x);
  if constexpr (op == UnaryOp::kRsqrt) return hn::Div(hn::Set(d, 1), hn::Sqrt(x));
  if constexpr (op == UnaryOp::kReciprocal) return hn::Div(hn::Set(d, 1), x);
  if constexpr (op == UnaryOp::kSin) return sine(d, x);
  if constexpr (op == UnaryOp::kCos) return cosine(d, x);
  if constexpr (op == UnaryOp::kSigmoid) return sigmoid(d, x);
  if constexpr (op == UnaryOp::kTanh) return hyperbolic_tangent(d, x);
  if constexpr (op == UnaryOp::kSilu) return silu(d, x);
  if constexpr (op == UnaryOp::kSoftplus) return softplus(d, x);
  // Highway's portable Floor, Ceil and Round may lose the sign of a result of 0.
  if constexpr (op == UnaryOp::kFloor) return hn::CopySign(hn::Floor(x), x);
  if constexpr (op == UnaryOp::kCeil) return hn::CopySign(hn::Ceil(x), x);
  if constexpr (op == UnaryOp::kRound) return hn::CopySign(hn::Round(x), x);
  if constexpr (op == UnaryOp::kTrunc) return hn::CopySign(hn::Trunc(x), x);
  if constexpr (op == UnaryOp::kHardswish) return hardswish(d, x);
  if constexpr (op == UnaryOp::kLogSigmoid) return log_sigmoid(d, x);
}

// Reads and writes T and computes in C.
template <UnaryOp op, class T, class C = T>
void float_row(const T* x, T* out, int64_t count) {
  const hn::ScalableTag<C> d;
  for_each_vector(
      d, count, [&](auto value) HWY_ATTR { return apply<op>(d, value); }, out, x);
}

// Computes in unsigned integers, so that overflow wraps.
template <UnaryOp op>
void integer_row(const int64_t* x, int64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (op == UnaryOp::kNegate) out[i] = static_cast<int64_t>(0 - static_cast<uint64_t>(x[i]));
    if constexpr (op == UnaryOp::kAbs) {
      out[i] = static_cast<int64_t>(x[i] < 0 ? 0 - static_cast<uint64_t>(x[i]) : static_cast<uint64_t>(x[i]));
    }
    if constexpr (op == UnaryOp::kSign) out[i] = (x[i] > 0 ? 1 : 0) - (x[i] < 0 ? 1 : 0);
    if constexpr (op == UnaryOp::kRelu) out[i] = x[i] > 0 ? x[i] : 0;
  }
}

template <UnaryOp op, class C>
void row(const C* x, C* out, int64_t count) {
  if constexpr (std::is_integral_v<C>) {
    integer_row<op>(x, out, count);
  } else if constexpr (formula_of(op) == nullptr) {
    float_row<op>(x, out, count);
  }
}

template <class C>
using Row = void (*)(const C*, C*, int64_t);

inline constexpr auto kAllOps = std::make_index_sequence<static_cast<size_t>(UnaryOp::kEnd)>();

template <class C, size_t... op>
Row<C> row_of(UnaryOp wanted, std::index_sequence<op...>) {
  static constexpr Row<C> kRows[] = {row<static_cast<UnaryOp>(op), C>...};
  return kRows[static_cast<size_t>(wanted)];
}

// T is BF16, or float with the values of BF16.
template <class T>
void short_gelu_row(const T* x, T* out, int64_t count) {
  const hn::ScalableTag<float> d;
  for_each_vector(
      d, count, [&](auto value) HWY_ATTR { return short_gelu_tanh(d, value); }, out, x);
}

void unary_range(UnaryOp op, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  if (x.dtype() == DType::kBF16 && out.dtype() == DType::kBF16) {
    if (op == UnaryOp::kGeluTanh) {
      return map_narrow_range(short_gelu_row<BFloat16>, short_gelu_row<float>, out, begin, end, x);
    }
    if (op == UnaryOp::kRelu) {
      return map_narrow_range(float_row<UnaryOp::kRelu, BFloat16, float>, float_row<UnaryOp::kRelu, float>, out, begin,
                              end, x);
    }
  }
  with_compute_type(out.dtype(), [&]<class C>() {
    if constexpr (std::is_floating_point_v<C>) {
      if (const UnaryFormula formula = formula_of(op)) {
        return map_range<C>(row_of_formula<C>(formula), out, begin, end, x);
      }
    }
    map_range<C>(row_of<C>(op, kAllOps), out, begin, end, x);
  });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(unary_range);

namespace {

bool has_integer_form(UnaryOp op) { return op <= UnaryOp::kRelu; }

// GELU and the other transcendental functions cost several times more per element.
int64_t grain_of(UnaryOp op) { return has_integer_form(op) ? kChunkSize : kChunkSize / 4; }

}  // namespace

Status unary(Stream& stream, UnaryOp op, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype) && !has_integer_form(op)) {
    return Status::failure(Code::kUnsupported, "this operation has no kernel for %s", name_of(out.dtype));
  }
  const Layout x_layout(x);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(unary_range);
  for_each_range(pool_of(stream), out.numel(), grain_of(op),
                 [&](int64_t begin, int64_t end) { range(op, x_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
