#include "backend/formula/elu.h"
#include "backend/formula/mish.h"
#include "cuda/base/map.h"
#include "cuda/base/math.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

constexpr bool has_integer_form(UnaryOp op) { return op <= UnaryOp::kRelu; }

template <UnaryOp op, class C>
struct UnaryOf {
  HALFTONE_DEVICE C operator()(C x) const {
    if constexpr (op == UnaryOp::kNegate) return -x;
    if constexpr (op == UnaryOp::kAbs) return std::fabs(x);
    // NaN is neither above nor below 0.
    if constexpr (op == UnaryOp::kSign) return static_cast<C>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
    // NaN is not <= 0, so it stays; -0 becomes 0.
    if constexpr (op == UnaryOp::kRelu) return x <= 0 ? C{0} : x;
    if constexpr (op == UnaryOp::kGeluErf) return gelu_erf_of(x);
    if constexpr (op == UnaryOp::kGeluTanh) return gelu_tanh_of(x);
    if constexpr (op == UnaryOp::kExp) return std::exp(x);
    if constexpr (op == UnaryOp::kLog) return std::log(x);
    if constexpr (op == UnaryOp::kSqrt) return std::sqrt(x);
    if constexpr (op == UnaryOp::kRsqrt) return C{1} / std::sqrt(x);
    if constexpr (op == UnaryOp::kReciprocal) return C{1} / x;
    if constexpr (op == UnaryOp::kSin) return std::sin(x);
    if constexpr (op == UnaryOp::kCos) return std::cos(x);
    if constexpr (op == UnaryOp::kSigmoid) return sigmoid_of(x);
    if constexpr (op == UnaryOp::kTanh) return tanh_of(x);
    if constexpr (op == UnaryOp::kSilu) return silu_of(x);
    if constexpr (op == UnaryOp::kSoftplus) return softplus_of(x);
    if constexpr (op == UnaryOp::kFloor) return std::floor(x);
    if constexpr (op == UnaryOp::kCeil) return std::ceil(x);
    if constexpr (op == UnaryOp::kRound) return std::rint(x);
    if constexpr (op == UnaryOp::kTrunc) return std::trunc(x);
    if constexpr (op == UnaryOp::kHardswish) return hardswish_of(x);
    if constexpr (op == UnaryOp::kLogSigmoid) return log_sigmoid_of(x);
    if constexpr (op == UnaryOp::kErf) return std::erf(x);
    if constexpr (op == UnaryOp::kLog1p) return std::log1p(x);
    if constexpr (op == UnaryOp::kExpm1) return std::expm1(x);
    if constexpr (op == UnaryOp::kTan) return std::tan(x);
    if constexpr (op == UnaryOp::kLog2) return std::log2(x);
    if constexpr (op == UnaryOp::kLog10) return std::log10(x);
    if constexpr (op == UnaryOp::kMish) return static_cast<C>(mish(static_cast<double>(x)));
    if constexpr (op == UnaryOp::kSelu) return static_cast<C>(selu(static_cast<double>(x)));
  }
};

// In unsigned integers, so that overflow wraps.
template <UnaryOp op>
struct UnaryOf<op, int64_t> {
  HALFTONE_DEVICE int64_t operator()(int64_t x) const {
    const uint64_t negative = 0 - static_cast<uint64_t>(x);
    if constexpr (op == UnaryOp::kNegate) return static_cast<int64_t>(negative);
    if constexpr (op == UnaryOp::kAbs) return x < 0 ? static_cast<int64_t>(negative) : x;
    if constexpr (op == UnaryOp::kSign) return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0);
    return x > 0 ? x : 0;
  }
};

}  // namespace

Status unary(Stream& stream, UnaryOp op, const View& x, const View& out) noexcept {
  return with_operation(op, [&]<UnaryOp wanted>() {
    if (is_float(out.dtype)) {
      return with_float_type(out.dtype, [&]<class C>() { return map<C>(stream, UnaryOf<wanted, C>(), out, x); });
    }
    if constexpr (has_integer_form(wanted)) return map<int64_t>(stream, UnaryOf<wanted, int64_t>(), out, x);
    return no_kernel_for(out.dtype);
  });
}

}  // namespace halftone::cuda
