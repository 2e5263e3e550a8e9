#include "cuda/base/map.h"
#include "cuda/base/math.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

template <TernaryOp op, class C>
struct TernaryOf {
  HALFTONE_DEVICE C operator()(C a, C b, C c) const {
    if constexpr (op == TernaryOp::kWhere) return a != 0 ? b : c;
    // If either is NaN both sides pass the gradient, as in PyTorch.
    if constexpr (op == TernaryOp::kMaximumBackward) return b < c ? C{0} : b == c ? a * C{0.5} : a;
    if constexpr (op == TernaryOp::kPowerBaseBackward) return a * power_base_slope(b, c);
    if constexpr (op == TernaryOp::kPowerExponentBackward) return a * power_exponent_slope(b, c);
  }
};

template <TernaryOp op>
struct TernaryOf<op, int64_t> {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b, int64_t c) const { return a != 0 ? b : c; }
};

constexpr bool is_power(TernaryOp op) {
  return op == TernaryOp::kPowerBaseBackward || op == TernaryOp::kPowerExponentBackward;
}

}  // namespace

Status ternary(Stream& stream, TernaryOp op, const View& a, const View& b, const View& c, const View& out) noexcept {
  return with_operation(op, [&]<TernaryOp wanted>() {
    if constexpr (is_power(wanted)) {
      // In double for every float, as the powers themselves.
      return is_float(out.dtype) ? map<double>(stream, TernaryOf<wanted, double>(), out, a, b, c)
                                 : no_kernel_for(out.dtype);
    } else {
      if (is_float(out.dtype)) {
        return with_float_type(out.dtype,
                               [&]<class C>() { return map<C>(stream, TernaryOf<wanted, C>(), out, a, b, c); });
      }
      if (wanted != TernaryOp::kWhere) return no_kernel_for(out.dtype);
      return map<int64_t>(stream, TernaryOf<wanted, int64_t>(), out, a, b, c);
    }
  });
}

}  // namespace halftone::cuda
