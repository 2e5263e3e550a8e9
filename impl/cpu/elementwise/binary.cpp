#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/binary.cpp"
#include <limits>
#include <numbers>

#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/elementwise/formulas.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/math/gelu.h"
#include "cpu/math/power.h"
#include "cpu/math/sigmoid.h"
#include "cpu/math/trigonometry.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// 0 up to -3, 1 from 3 on, and x / 3 + 1/2 between; NaN gives NaN.
template <class D, class V>
HWY_INLINE V hardswish_derivative(D d, V x) {
  const auto three = hn::Set(d, 3);
  const auto slope = hn::Add(hn::Div(x, three), hn::Set(d, 0.5));
  const auto bounded = hn::IfThenElse(hn::Ge(x, three), hn::Set(d, 1), slope);
  return hn::IfThenZeroElse(hn::Le(x, hn::Neg(three)), bounded);
}

// Returns the gradient a times the derivative at b, which is the forward input or result.
template <BinaryOp op, class D, class V>
HWY_INLINE V apply_math_backward(D d, V a, V b) {
  const auto one = hn::Set(d, 1);
  // The gradient is 0 at 0 and for a NaN input.
  if constexpr (op == BinaryOp::kAbsBackward) {
    return hn::IfThenElseZero(hn::Gt(hn::Abs(b), hn::Zero(d)), hn::IfThenElse(hn::Lt(b, hn::Zero(d)), hn::Neg(a), a));
  }
  if constexpr (op == BinaryOp::kSqrtBackward) return hn::Div(a, hn::Add(b, b));
  if constexpr (op == BinaryOp::kRsqrtBackward) {
    return hn::Mul(hn::Mul(hn::Mul(a, b), b), hn::Mul(b, hn::Set(d, -0.5)));
  }
  if constexpr (op == BinaryOp::kReciprocalBackward) return hn::Neg(hn::Mul(hn::Mul(a, b), b));
  if constexpr (op == BinaryOp::kSinBackward) return hn::Mul(a, cosine(d, b));
  if constexpr (op == BinaryOp::kCosBackward) return hn::Neg(hn::Mul(a, sine(d, b)));
  if constexpr (op == BinaryOp::kSigmoidBackward) return hn::Mul(a, hn::Mul(b, hn::Sub(one, b)));
  if constexpr (op == BinaryOp::kTanhBackward) return hn::Mul(a, hn::Mul(hn::Sub(one, b), hn::Add(one, b)));
  if constexpr (op == BinaryOp::kSiluBackward) return hn::Mul(a, silu_derivative(d, b));
  if constexpr (op == BinaryOp::kSoftplusBackward) return hn::Mul(a, sigmoid(d, b));
  if constexpr (op == BinaryOp::kExpm1Backward) return hn::Mul(a, hn::Add(b, one));
  if constexpr (op == BinaryOp::kTanBackward) return hn::Mul(a, hn::Add(one, hn::Mul(b, b)));
  if constexpr (op == BinaryOp::kLog2Backward) return hn::Div(a, hn::Mul(b, hn::Set(d, std::numbers::ln2)));
  if constexpr (op == BinaryOp::kLog10Backward) return hn::Div(a, hn::Mul(b, hn::Set(d, std::numbers::ln10)));
  if constexpr (op == BinaryOp::kHardswishBackward) return hn::Mul(a, hardswish_derivative(d, b));
  if constexpr (op == BinaryOp::kLogSigmoidBackward) return hn::Mul(a, sigmoid(d, hn::Neg(b)));
  if constexpr (op == BinaryOp::kPreluWeightBackward) return hn::IfThenZeroElse(hn::Gt(b, hn::Zero(d)), hn::Mul(a, b));
  if constexpr (op == BinaryOp::kNanToNumBackward) {
    const auto infinity = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
    return hn::IfThenElseZero(hn::Lt(hn::Abs(b), infinity), a);
  }
}

// The value of an op on vectors of a float type.
template <BinaryOp op, class D, class V>
HWY_INLINE V apply(D d, V a, V b) {
  if constexpr (op == BinaryOp::kAdd) return hn::Add(a, b);
  if constexpr (op == BinaryOp::kSubtract) return hn::Sub(a, b);
  if constexpr (op == BinaryOp::kMultiply) return hn::Mul(a, b);
  // hn::Max is not used: its result for NaN and for zeros of different sign depends on the instruction set.
  if constexpr (op == BinaryOp::kMaximum) return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  if constexpr (op == BinaryOp::kMinimum) return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  if constexpr (op == BinaryOp::kPower) return power(d, a, b);
  if constexpr (op == BinaryOp::kDivide) return hn::Div(a, b);
  // NaN is not above 0, so it is multiplied and stays.
  if constexpr (op == BinaryOp::kPrelu) return hn::IfThenElse(hn::Gt(a, hn::Zero(d)), a, hn::Mul(b, a));
  if constexpr (op == BinaryOp::kGlu) return hn::Mul(a, sigmoid(d, b));
  // NaN passes the gradient, because forward passed the NaN.
  if constexpr (op == BinaryOp::kReluBackward) return hn::IfThenZeroElse(hn::Le(b, hn::Zero(d)), a);
  if constexpr (op == BinaryOp::kGeluErfBackward) return hn::Mul(a, gelu_erf_derivative(d, b));
  if constexpr (op == BinaryOp::kGeluTanhBackward) return hn::Mul(a, gelu_tanh_derivative(d, b));
  if constexpr (op >= BinaryOp::kAbsBackward) return apply_math_backward<op>(d, a, b);
}

// Reads and writes T and computes in C.
template <BinaryOp op, class T, class C = T>
void float_row(const T* a, const T* b, T* out, int64_t count) {
  const hn::ScalableTag<C> d;
  for_each_vector(
      d, count, [&](auto x, auto y) HWY_ATTR { return apply<op>(d, x, y); }, out, a, b);
}

// Computes in unsigned integers, so that overflow wraps.
template <BinaryOp op>
void integer_row(const int64_t* a, const int64_t* b, int64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t x = static_cast<uint64_t>(a[i]);
    const uint64_t y = static_cast<uint64_t>(b[i]);
    if constexpr (op == BinaryOp::kAdd) out[i] = static_cast<int64_t>(x + y);
    if constexpr (op == BinaryOp::kSubtract) out[i] = static_cast<int64_t>(x - y);
    if constexpr (op == BinaryOp::kMultiply) out[i] = static_cast<int64_t>(x * y);
    if constexpr (op == BinaryOp::kMaximum) out[i] = std::max(a[i], b[i]);
    if constexpr (op == BinaryOp::kMinimum) out[i] = std::min(a[i], b[i]);
    if constexpr (op == BinaryOp::kFmod) out[i] = truncated_remainder(a[i], b[i]);
    if constexpr (op == BinaryOp::kRemainder) out[i] = floored_remainder(a[i], b[i]);
    if constexpr (op == BinaryOp::kFloorDivide) out[i] = floored_quotient(a[i], b[i]);
    if constexpr (op == BinaryOp::kBitwiseAnd) out[i] = a[i] & b[i];
    if constexpr (op == BinaryOp::kBitwiseOr) out[i] = a[i] | b[i];
    if constexpr (op == BinaryOp::kBitwiseXor) out[i] = a[i] ^ b[i];
    if constexpr (op == BinaryOp::kReluBackward) out[i] = b[i] > 0 ? a[i] : 0;
  }
}

template <BinaryOp op, class C>
void row(const C* a, const C* b, C* out, int64_t count) {
  if constexpr (std::is_integral_v<C>) {
    integer_row<op>(a, b, out, count);
  } else if constexpr (formula_of(op) == nullptr && !is_bitwise(op)) {
    float_row<op>(a, b, out, count);
  }
}

template <class C>
using Row = void (*)(const C*, const C*, C*, int64_t);

inline constexpr auto kAllOps = std::make_index_sequence<static_cast<size_t>(BinaryOp::kEnd)>();

template <class C, size_t... op>
Row<C> row_of(BinaryOp wanted, std::index_sequence<op...>) {
  static constexpr Row<C> kRows[] = {row<static_cast<BinaryOp>(op), C>...};
  return kRows[static_cast<size_t>(wanted)];
}

// T is BF16, or float with the values of BF16.
template <class T>
void short_gelu_row(const T* a, const T* b, T* out, int64_t count) {
  const hn::ScalableTag<float> d;
  for_each_vector(
      d, count, [&](auto x, auto y) HWY_ATTR { return hn::Mul(x, short_gelu_tanh_derivative(d, y)); }, out, a, b);
}

void binary_range(BinaryOp op, const Layout& a, const Layout& b, const Layout& out, int64_t begin, int64_t end) {
  if (a.dtype() == DType::kBF16 && b.dtype() == DType::kBF16 && out.dtype() == DType::kBF16) {
    constexpr auto kSlope = BinaryOp::kReluBackward;
    if (op == BinaryOp::kGeluTanhBackward) {
      return map_narrow_range(short_gelu_row<BFloat16>, short_gelu_row<float>, out, begin, end, a, b);
    }
    if (op == kSlope) {
      return map_narrow_range(float_row<kSlope, BFloat16, float>, float_row<kSlope, float>, out, begin, end, a, b);
    }
  }
  with_compute_type(out.dtype(), [&]<class C>() {
    if constexpr (std::is_floating_point_v<C>) {
      if (const BinaryFormula formula = formula_of(op)) {
        return map_range<C>(row_of_formula<C>(formula), out, begin, end, a, b);
      }
    }
    map_range<C>(row_of<C>(op, kAllOps), out, begin, end, a, b);
  });
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(binary_range);

namespace {

bool has_integer_form(BinaryOp op) { return op <= BinaryOp::kBitwiseXor || op == BinaryOp::kReluBackward; }

// GELU and the other transcendental functions cost several times more per element.
int64_t grain_of(BinaryOp op) {
  const bool is_cheap = has_integer_form(op) && formula_of(op) == nullptr;
  return is_cheap || op == BinaryOp::kDivide ? kChunkSize : kChunkSize / 4;
}

}  // namespace

Status binary(Stream& stream, BinaryOp op, const View& a, const View& b, const View& out) noexcept {
  if (is_float(out.dtype) ? is_bitwise(op) : !has_integer_form(op)) {
    return Status::failure(Code::kUnsupported, "this operation has no kernel for %s", name_of(out.dtype));
  }
  if (op == BinaryOp::kPower && is_one_wide_exponent(b, out)) return power(stream, a, b, out);
  const Layout a_layout(a);
  const Layout b_layout(b);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(binary_range);
  for_each_range(pool_of(stream), out.numel(), grain_of(op),
                 [&](int64_t begin, int64_t end) { range(op, a_layout, b_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
