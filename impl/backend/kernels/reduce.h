// Kernels that reduce dimensions.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

enum class Extreme : int32_t { kLargest, kSmallest };

// The variance of terms is the sum of their squared deviations from the mean, divided by `divisor`.
struct Variance {
  double divisor;   // at least 0, which gives NaN for a sum of 0 and else infinity
  bool takes_root;  // the standard deviation instead
};

struct ReduceKernels {
  // out = scale * sum of in over every dimension in which out has size 1 and in has another; ranks are equal. Floats
  // accumulate pairwise in FP32 (f64: double), integers in int64 (scale is then ignored). An empty sum is 0.
  Status (*sum)(Stream&, const View& in, double scale, Store store, const View& out) noexcept;
  // out (f32 scalar) = share of rows of logits [n, c] whose largest entry (the first of equals; NaN counts as largest)
  // stands at targets[n] (i64). Targets outside [0, c) are INVALID_ARGUMENT. NaN where n is 0.
  Status (*accuracy)(Stream&, const View& logits, const View& targets, const View& out) noexcept;
  // out = the largest or smallest of in, exact, over the dimensions as in sum; NaN wins. REQUIRES: something to choose
  // from for every output; dtypes are equal.
  Status (*extreme)(Stream&, Extreme extreme, const View& in, const View& out) noexcept;
  // grad_in = grad / (number of elements of in that equal values) at those elements, else 0; NaN equals NaN. values is
  // what `extreme` gave; grad has its shape.
  Status (*extreme_backward)(Stream&, const View& grad, const View& in, const View& values,
                             const View& grad_in) noexcept;
  // out (i64) = the first index along one dimension, that of size 1 in out, at which in equals values; NaN equals NaN.
  // values has in's dtype and out's shape; both are contiguous. REQUIRES: every value stands in `in`.
  Status (*index_of)(Stream&, const View& in, const View& values, const View& out) noexcept;
  // out = grad at the index along dim that indices (i64) name, else 0; grad and indices have size 1 at dim.
  Status (*place)(Stream&, const View& grad, const View& indices, int dim, const View& out) noexcept;
  // out[i] = in[0] + ... + in[i] along dim, or from the other end where `from_end`. Shapes are equal. Floats accumulate
  // one by one in double, integers in int64, which wraps; rounded once.
  Status (*cumulative_sum)(Stream&, const View& in, int dim, bool from_end, const View& out) noexcept;
  // out = the variance of in over the dimensions as in sum, and means = the means, in double throughout: first the
  // mean, then the deviations from it. Equal terms give exactly 0, no terms NaN. means is f64; it and out have one
  // shape and are contiguous.
  Status (*variance)(Stream&, const Variance& variance, const View& in, const View& means, const View& out) noexcept;
  // grad_in = factor * grad * (in - means), in double; grad and means have the shape that out had in `variance`.
  Status (*variance_backward)(Stream&, double factor, const View& grad, const View& in, const View& means,
                              const View& grad_in) noexcept;
  // out = log(sum of exp(in)) over the dimensions as in sum, in FP32 (f64: double) after subtracting the largest.
  // Cases: nothing and -inf throughout give -inf, +inf gives +inf, NaN wins.
  Status (*log_sum_exp)(Stream&, const View& in, const View& out) noexcept;
  // grad_in = grad * exp(in - log_sum_exp(in)), the sum formed anew; NaN where both are infinite. grad has out's shape.
  Status (*log_sum_exp_backward)(Stream&, const View& grad, const View& in, const View& grad_in) noexcept;
};

}  // namespace halftone
