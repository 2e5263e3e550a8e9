#include <numbers>

#include "backend/formula/division.h"
#include "backend/formula/elu.h"
#include "backend/formula/logaddexp.h"
#include "backend/formula/mish.h"
#include "cuda/base/map.h"
#include "cuda/base/math.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

constexpr bool has_integer_form(BinaryOp op) { return op <= BinaryOp::kBitwiseXor || op == BinaryOp::kReluBackward; }

constexpr bool is_bitwise(BinaryOp op) { return op >= BinaryOp::kBitwiseAnd && op <= BinaryOp::kBitwiseXor; }

template <BinaryOp op, class C>
struct BinaryOf {
  HALFTONE_DEVICE C operator()(C a, C b) const {
    if constexpr (op == BinaryOp::kAdd) return a + b;
    if constexpr (op == BinaryOp::kSubtract) return a - b;
    if constexpr (op == BinaryOp::kMultiply) return a * b;
    // fmax would drop a NaN.
    if constexpr (op == BinaryOp::kMaximum) return a > b || a != a ? a : b;
    if constexpr (op == BinaryOp::kMinimum) return a < b || a != a ? a : b;
    if constexpr (op == BinaryOp::kFmod) return std::fmod(a, b);
    if constexpr (op == BinaryOp::kRemainder) return static_cast<C>(floored_remainder(wide(a), wide(b)));
    if constexpr (op == BinaryOp::kFloorDivide) return static_cast<C>(floored_quotient(wide(a), wide(b)));
    if constexpr (op == BinaryOp::kDivide) return a / b;
    if constexpr (op == BinaryOp::kAtan2) return std::atan2(a, b);
    if constexpr (op == BinaryOp::kLogaddexp) return static_cast<C>(logaddexp(wide(a), wide(b)));
    // NaN is not above 0, so it is multiplied and stays.
    if constexpr (op == BinaryOp::kPrelu) return a > 0 ? a : b * a;
    if constexpr (op == BinaryOp::kGlu) return a * sigmoid_of(b);
    if constexpr (op == BinaryOp::kPower)
      return static_cast<C>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    // NaN passes the gradient, because forward passed the NaN.
    if constexpr (op == BinaryOp::kReluBackward) return b <= 0 ? C{0} : a;
    if constexpr (op == BinaryOp::kGeluErfBackward) return a * gelu_erf_slope(b);
    if constexpr (op == BinaryOp::kGeluTanhBackward) return a * gelu_tanh_slope(b);
    if constexpr (op >= BinaryOp::kAbsBackward) return by_slope(a, b);
  }

 private:
  HALFTONE_DEVICE static double wide(C x) { return static_cast<double>(x); }
  // The gradient a times the derivative at b, which is the forward input or result.
  HALFTONE_DEVICE static C by_slope(C a, C b) {
    // The gradient is 0 at 0 and for a NaN input.
    if constexpr (op == BinaryOp::kAbsBackward) return b > 0 ? a : b < 0 ? -a : C{0};
    if constexpr (op == BinaryOp::kSqrtBackward) return a / (b + b);
    if constexpr (op == BinaryOp::kRsqrtBackward) return a * b * b * (b * C{-0.5});
    if constexpr (op == BinaryOp::kReciprocalBackward) return -(a * b * b);
    if constexpr (op == BinaryOp::kSinBackward) return a * std::cos(b);
    if constexpr (op == BinaryOp::kCosBackward) return -(a * std::sin(b));
    if constexpr (op == BinaryOp::kSigmoidBackward) return a * (b * (C{1} - b));
    if constexpr (op == BinaryOp::kTanhBackward) return a * ((C{1} - b) * (C{1} + b));
    if constexpr (op == BinaryOp::kSiluBackward) return a * silu_slope(b);
    if constexpr (op == BinaryOp::kSoftplusBackward) return a * sigmoid_of(b);
    if constexpr (op == BinaryOp::kExpm1Backward) return a * (b + C{1});
    if constexpr (op == BinaryOp::kTanBackward) return a * (C{1} + b * b);
    if constexpr (op == BinaryOp::kLog2Backward) return a / (b * static_cast<C>(std::numbers::ln2));
    if constexpr (op == BinaryOp::kLog10Backward) return a / (b * static_cast<C>(std::numbers::ln10));
    if constexpr (op == BinaryOp::kHardswishBackward) return a * hardswish_slope(b);
    if constexpr (op == BinaryOp::kLogSigmoidBackward) return a * sigmoid_of(-b);
    if constexpr (op == BinaryOp::kPreluWeightBackward) return b > 0 ? C{0} : a * b;
    // b - b is NaN for an infinity and for NaN.
    if constexpr (op == BinaryOp::kNanToNumBackward) return b - b == 0 ? a : C{0};
    if constexpr (op == BinaryOp::kErfBackward) return a * erf_slope(b);
    if constexpr (op == BinaryOp::kMishBackward) return static_cast<C>(wide(a) * mish_derivative(wide(b)));
    return static_cast<C>(wide(a) * selu_derivative(wide(b)));  // kSeluBackward
  }
};

// In unsigned integers, so that overflow wraps.
template <BinaryOp op>
struct BinaryOf<op, int64_t> {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b) const {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    if constexpr (op == BinaryOp::kAdd) return static_cast<int64_t>(x + y);
    if constexpr (op == BinaryOp::kSubtract) return static_cast<int64_t>(x - y);
    if constexpr (op == BinaryOp::kMultiply) return static_cast<int64_t>(x * y);
    if constexpr (op == BinaryOp::kMaximum) return a > b ? a : b;
    if constexpr (op == BinaryOp::kMinimum) return a < b ? a : b;
    if constexpr (op == BinaryOp::kFmod) return truncated_remainder(a, b);
    if constexpr (op == BinaryOp::kRemainder) return floored_remainder(a, b);
    if constexpr (op == BinaryOp::kFloorDivide) return floored_quotient(a, b);
    if constexpr (op == BinaryOp::kBitwiseAnd) return a & b;
    if constexpr (op == BinaryOp::kBitwiseOr) return a | b;
    if constexpr (op == BinaryOp::kBitwiseXor) return a ^ b;
    return b > 0 ? a : 0;  // kReluBackward
  }
};

template <BinaryOp op>
Status binary_of_floats(Stream& stream, const View& a, const View& b, const View& out) noexcept {
  if constexpr (is_bitwise(op)) {
    return no_kernel_for(out.dtype);
  } else if constexpr (op == BinaryOp::kPower) {
    // In double for every float, so that an f64 exponent stays what it is.
    return map<double>(stream, BinaryOf<op, double>(), out, a, b);
  } else {
    return with_float_type(out.dtype, [&]<class C>() { return map<C>(stream, BinaryOf<op, C>(), out, a, b); });
  }
}

}  // namespace

Status binary(Stream& stream, BinaryOp op, const View& a, const View& b, const View& out) noexcept {
  return with_operation(op, [&]<BinaryOp wanted>() {
    if (is_float(out.dtype)) return binary_of_floats<wanted>(stream, a, b, out);
    if constexpr (has_integer_form(wanted)) return map<int64_t>(stream, BinaryOf<wanted, int64_t>(), out, a, b);
    return no_kernel_for(out.dtype);
  });
}

}  // namespace halftone::cuda
