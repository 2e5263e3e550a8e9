// Kernels that reduce dimensions.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

enum class MinMax : int32_t { kMax, kMin };

// The sum of squared deviations from the mean, divided by `divisor`.
struct Variance {
  double divisor;   // at least 0; 0 gives NaN if the sum is 0, else infinity
  bool takes_root;  // return the standard deviation instead
};

struct ReduceKernels {
  // out = scale * sum of in over every dimension where out has size 1 and in has another size; ranks are equal. Floats
  // accumulate pairwise in FP32 (f64: double), integers in int64, which ignore the scale. An empty sum is 0.
  Status (*sum)(Stream&, const View& in, double scale, Store store, const View& out) noexcept;
  // out (f32 scalar) = the share of rows of logits [n, c] whose largest entry (the first of equals; NaN counts as
  // largest) is at targets[n] (i64). A target outside [0, c) returns INVALID_ARGUMENT. NaN if n is 0.
  Status (*accuracy)(Stream&, const View& logits, const View& targets, const View& out) noexcept;
  // out = the largest or smallest element of in, exactly; dimensions as in sum; NaN wins. REQUIRES: at least one
  // element for every output; equal dtypes.
  Status (*min_max)(Stream&, MinMax which, const View& in, const View& out) noexcept;
  // grad_in = grad / (number of elements of in equal to values) at those elements, else 0; NaN equals NaN. `min_max`
  // computed values; grad has its shape.
  Status (*min_max_backward)(Stream&, const View& grad, const View& in, const View& values,
                             const View& grad_in) noexcept;
  // out (i64) = the first index along one dimension, the one of size 1 in out, where in equals values; NaN equals NaN.
  // values has in's dtype and out's shape; both are contiguous. REQUIRES: every value occurs in its line of in.
  Status (*index_of)(Stream&, const View& in, const View& values, const View& out) noexcept;
  // out = grad at the index along dim given by indices (i64), else 0; grad and indices have size 1 at dim.
  Status (*one_hot)(Stream&, const View& grad, const View& indices, int dim, const View& out) noexcept;
  // out = the product of in, dimensions as in sum. Floats multiply in double, integers in int64 with wraparound;
  // rounded once. An empty product is 1.
  Status (*product)(Stream&, const View& in, const View& out) noexcept;
  // out[i] = in[0] + ... + in[i] along dim, or from the other end if `from_end`. Shapes are equal. Floats accumulate
  // one by one in double, integers in int64 with wraparound; rounded once.
  Status (*cumulative_sum)(Stream&, const View& in, int dim, bool from_end, const View& out) noexcept;
  // out[i] = in[0] * ... * in[i] along dim. Shapes are equal. Floats multiply in double, integers in int64 with
  // wraparound; rounded once.
  Status (*cumulative_product)(Stream&, const View& in, int dim, const View& out) noexcept;
  // out (i64) = along dim, the last index so far of the largest or smallest element so far; a NaN is both. in has any
  // dtype but an 8-bit float; both are contiguous, and the shapes are equal.
  Status (*cumulative_index_of)(Stream&, MinMax which, const View& in, int dim, const View& out) noexcept;
  // The gradient of cumulative_product, in double and without a division. products (f64) is its result for in. All
  // shapes are equal.
  Status (*cumulative_product_backward)(Stream&, const View& grad, const View& in, const View& products, int dim,
                                        const View& grad_in) noexcept;
  // out = (sum of |in|^p)^(1/p), dimensions as in sum, in double; for p = 0 the number of elements that are not 0.
  // REQUIRES: p is finite.
  Status (*vector_norm)(Stream&, double p, const View& in, const View& out) noexcept;
  // The gradient of vector_norm: grad * sign(in) (|in| / norms)^(p - 1), and 0 where in is 0. norms is its result for
  // in; grad has its shape.
  Status (*vector_norm_backward)(Stream&, double p, const View& grad, const View& in, const View& norms,
                                 const View& grad_in) noexcept;
  // out = the variance of in, dimensions as in sum, and means = the means, all in double: first the mean, then the
  // deviations from it, both of scaled elements where squares leave double's range. Equal elements give exactly 0, no
  // elements give NaN. means is f64; means and out have one shape and are contiguous.
  Status (*variance)(Stream&, const Variance& variance, const View& in, const View& means, const View& out) noexcept;
  // grad_in = factor * grad * (in - means), in double. For standard deviations, which are null otherwise, the
  // difference is divided by `deviations`, and grad_in is 0 for a deviation of 0. grad, means and deviations have the
  // shape of out in `variance`.
  Status (*variance_backward)(Stream&, double factor, const View& grad, const View& in, const View& means,
                              const View& deviations, const View& grad_in) noexcept;
  // out = log(sum of exp(in)), dimensions as in sum, in FP32 (f64: double) after subtracting the largest element.
  // Cases: no elements and only -inf give -inf, +inf gives +inf, NaN wins.
  Status (*log_sum_exp)(Stream&, const View& in, const View& out) noexcept;
  // grad_in = grad * exp(in - log_sum_exp(in)), with the sum computed again; NaN if both are infinite. grad has out's
  // shape.
  Status (*log_sum_exp_backward)(Stream&, const View& grad, const View& in, const View& grad_in) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_REDUCE_ENTRIES(X)              \
  X(ReduceKernels, sum)                         \
  X(ReduceKernels, accuracy)                    \
  X(ReduceKernels, min_max)                     \
  X(ReduceKernels, min_max_backward)            \
  X(ReduceKernels, index_of)                    \
  X(ReduceKernels, one_hot)                     \
  X(ReduceKernels, product)                     \
  X(ReduceKernels, cumulative_sum)              \
  X(ReduceKernels, cumulative_product)          \
  X(ReduceKernels, cumulative_index_of)         \
  X(ReduceKernels, cumulative_product_backward) \
  X(ReduceKernels, vector_norm)                 \
  X(ReduceKernels, vector_norm_backward)        \
  X(ReduceKernels, variance)                    \
  X(ReduceKernels, variance_backward)           \
  X(ReduceKernels, log_sum_exp)                 \
  X(ReduceKernels, log_sum_exp_backward)

}  // namespace halftone
