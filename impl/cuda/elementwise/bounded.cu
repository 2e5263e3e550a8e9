// Elementwise functions with numbers of the caller: bounds, replacements, activations, scale and shift. The numbers are
// rounded to the compute type.
#include <cmath>
#include <limits>

#include "backend/formula/elu.h"
#include "cuda/base/map.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

// NaN compares false with both bounds, so it stays.
template <class C>
struct Clamp {
  C low;
  C high;
  HALFTONE_DEVICE C operator()(C x) const {
    const C raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};

template <class C>
struct NanToNum {
  C nan;
  C positive;
  C negative;
  HALFTONE_DEVICE C operator()(C x) const {
    if (x != x) return nan;
    return x - x == 0 ? x : x < 0 ? negative : positive;
  }
};

// Passes the gradient from `low` to `high`, inclusive.
template <class C>
struct ClampBackward {
  C low;
  C high;
  HALFTONE_DEVICE C operator()(C grad, C x) const { return x >= low && x <= high ? grad : C{0}; }
};

// The next number after a bound, the first that is not on it. An infinite bound is no bound, so it is returned as it
// is.
template <class C>
C beyond(double bound, C towards) {
  const C rounded = static_cast<C>(bound);
  return std::isinf(rounded) ? rounded : std::nextafter(rounded, towards);
}

// NaN is not above 0, so it is multiplied and stays.
template <class C>
struct Leak {
  C slope;
  HALFTONE_DEVICE C operator()(C x) const { return x > 0 ? x : x * slope; }
};
template <class C>
struct LeakBackward {
  C slope;
  HALFTONE_DEVICE C operator()(C grad, C x) const { return x > 0 ? grad : grad * slope; }
};

// In double, as on the CPU.
template <class C>
struct Elu {
  double alpha;
  HALFTONE_DEVICE C operator()(C x) const { return static_cast<C>(elu(static_cast<double>(x), alpha)); }
};
template <class C>
struct EluBackward {
  double alpha;
  HALFTONE_DEVICE C operator()(C grad, C x) const {
    return static_cast<C>(static_cast<double>(grad) * elu_derivative(static_cast<double>(x), alpha));
  }
};

// Product and sum are rounded separately.
template <class C>
struct Affine {
  C scale;
  C shift;
  HALFTONE_DEVICE C operator()(C x) const { return x * scale + shift; }
};

}  // namespace

Status clamp(Stream& stream, const Bounds& bounds, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype, [&]<class C>() {
    return map<C>(stream, Clamp<C>{static_cast<C>(bounds.low), static_cast<C>(bounds.high)}, out, x);
  });
}

Status clamp_backward(Stream& stream, const Bounds& bounds, const View& grad_output, const View& x,
                      const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype, [&]<class C>() {
    constexpr C infinity = std::numeric_limits<C>::infinity();
    const ClampBackward<C> within = {beyond(bounds.low, infinity), beyond(bounds.high, -infinity)};
    return map<C>(stream, within, out, grad_output, x);
  });
}

Status nan_to_num(Stream& stream, const Replacements& by, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype, [&]<class C>() {
    const NanToNum<C> replaced = {static_cast<C>(by.nan), static_cast<C>(by.positive), static_cast<C>(by.negative)};
    return map<C>(stream, replaced, out, x);
  });
}

Status activation(Stream& stream, const Activation& activation, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype, [&]<class C>() {
    if (activation.op == ActivationOp::kElu) return map<C>(stream, Elu<C>{activation.number}, out, x);
    return map<C>(stream, Leak<C>{static_cast<C>(activation.number)}, out, x);
  });
}

Status activation_backward(Stream& stream, const Activation& activation, const View& grad_output, const View& x,
                           const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype, [&]<class C>() {
    if (activation.op == ActivationOp::kElu) {
      return map<C>(stream, EluBackward<C>{activation.number}, out, grad_output, x);
    }
    return map<C>(stream, LeakBackward<C>{static_cast<C>(activation.number)}, out, grad_output, x);
  });
}

Status affine(Stream& stream, double scale, double shift, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return no_kernel_for(out.dtype);
  return with_float_type(out.dtype, [&]<class C>() {
    return map<C>(stream, Affine<C>{static_cast<C>(scale), static_cast<C>(shift)}, out, x);
  });
}

}  // namespace halftone::cuda
