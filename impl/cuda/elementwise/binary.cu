#include "cuda/base/map.h"
#include "cuda/base/math.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

constexpr bool has_integer_form(BinaryOp op) { return op <= BinaryOp::kMinimum || op == BinaryOp::kReluBackward; }

template <BinaryOp op, class C>
struct BinaryOf {
  HALFTONE_DEVICE C operator()(C a, C b) const {
    if constexpr (op == BinaryOp::kAdd) return a + b;
    if constexpr (op == BinaryOp::kSubtract) return a - b;
    if constexpr (op == BinaryOp::kMultiply) return a * b;
    // fmax would drop a NaN.
    if constexpr (op == BinaryOp::kMaximum) return a > b || a != a ? a : b;
    if constexpr (op == BinaryOp::kMinimum) return a < b || a != a ? a : b;
    if constexpr (op == BinaryOp::kDivide) return a / b;
    if constexpr (op == BinaryOp::kPower)
      return static_cast<C>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    // NaN passes the gradient, because forward passed the NaN.
    if constexpr (op == BinaryOp::kReluBackward) return b <= 0 ? C{0} : a;
    if constexpr (op == BinaryOp::kGeluErfBackward) return a * gelu_erf_slope(b);
    if constexpr (op == BinaryOp::kGeluTanhBackward) return a * gelu_tanh_slope(b);
    if constexpr (op >= BinaryOp::kAbsBackward) return by_slope(a, b);
  }

 private:
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
    if constexpr (op == BinaryOp::kErfBackward) return a * erf_slope(b);
    return a * (b + C{1});  // kExpm1Backward
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
    return b > 0 ? a : 0;  // kReluBackward
  }
};

}  // namespace

Status binary(Stream& stream, BinaryOp op, const View& a, const View& b, const View& out) noexcept {
  return with_operation(op, [&]<BinaryOp wanted>() {
    // In double for every float, so that an f64 exponent stays what it is.
    if (wanted == BinaryOp::kPower && is_float(out.dtype))
      return map<double>(stream, BinaryOf<wanted, double>(), out, a, b);
    if (is_float(out.dtype)) {
      return with_float_type(out.dtype, [&]<class C>() { return map<C>(stream, BinaryOf<wanted, C>(), out, a, b); });
    }
    if constexpr (has_integer_form(wanted)) return map<int64_t>(stream, BinaryOf<wanted, int64_t>(), out, a, b);
    return no_kernel_for(out.dtype);
  });
}

}  // namespace halftone::cuda
