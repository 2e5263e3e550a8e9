#include "backend/formula/atan2.h"
#include "backend/formula/logaddexp.h"
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
    // From the nearer end, so that a weight of 1 gives b exactly.
    if constexpr (op == TernaryOp::kLerp) return std::fabs(c) < C{0.5} ? a + c * (b - a) : b - (b - a) * (C{1} - c);
    if constexpr (op == TernaryOp::kPreluBackward) return b > 0 ? a : a * c;
    // 1 - s is the sigmoid of -c.
    if constexpr (op == TernaryOp::kGluBackward) return a * b * (sigmoid_of(c) * sigmoid_of(-c));
    if constexpr (op == TernaryOp::kAtan2Backward) return static_cast<C>(wide(a) * atan2_slope(wide(b), wide(c)));
    if constexpr (op == TernaryOp::kLogaddexpBackward) {
      return static_cast<C>(wide(a) * logaddexp_slope(wide(b), wide(c)));
    }
    if constexpr (op == TernaryOp::kPowerBaseBackward) return a * power_base_slope(b, c);
    if constexpr (op == TernaryOp::kPowerExponentBackward) return a * power_exponent_slope(b, c);
  }

 private:
  HALFTONE_DEVICE static double wide(C x) { return static_cast<double>(x); }
};

template <TernaryOp op>
struct TernaryOf<op, int64_t> {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b, int64_t c) const { return a != 0 ? b : c; }
};

// Products and sum are rounded separately, as on the CPU.
template <class C>
struct Addcmul {
  C value;
  HALFTONE_DEVICE C operator()(C x, C a, C b) const { return x + value * a * b; }
};

template <class C>
struct Addcdiv {
  C value;
  HALFTONE_DEVICE C operator()(C x, C a, C b) const { return x + value * a / b; }
};

// Integers wrap.
template <>
struct Addcmul<int64_t> {
  int64_t value;
  HALFTONE_DEVICE int64_t operator()(int64_t x, int64_t a, int64_t b) const {
    const auto wrapped = [](int64_t number) { return static_cast<uint64_t>(number); };
    return static_cast<int64_t>(wrapped(x) + wrapped(value) * wrapped(a) * wrapped(b));
  }
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

Status addcmul(Stream& stream, double value, const View& x, const View& a, const View& b, const View& out) noexcept {
  if (!is_float(out.dtype)) {
    return map<int64_t>(stream, Addcmul<int64_t>{static_cast<int64_t>(value)}, out, x, a, b);
  }
  return with_float_type(out.dtype,
                         [&]<class C>() { return map<C>(stream, Addcmul<C>{static_cast<C>(value)}, out, x, a, b); });
}

Status addcdiv(Stream& stream, double value, const View& x, const View& a, const View& b, const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype,
                         [&]<class C>() { return map<C>(stream, Addcdiv<C>{static_cast<C>(value)}, out, x, a, b); });
}

}  // namespace halftone::cuda
