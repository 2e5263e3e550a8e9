// Kernels of softmax, the losses built on it, and the normalisation layers.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// The statistics of a row: its mean and variance; its mean square, with a mean of 0; or given by the caller.
enum class RowStatistics : int32_t { kMeanAndVariance, kMeanSquare, kGiven };

// A tensor as layer, group, RMS and batch normalisation see it: its elements in row-major order are `rows` rows of
// equal length, each normalised on its own. Every `spatial` consecutive elements of a row belong to one channel; rows r
// and r + groups have the same channels. Layer and RMS normalisation have groups 1 and spatial 1.
struct RowNorm {
  RowStatistics statistics = RowStatistics::kMeanAndVariance;
  double epsilon = 0.0;
  int64_t rows = 1;
  int64_t groups = 1;
  int64_t spatial = 1;
  bool are_stored = false;  // given statistics are in the form that kernels write
};

// The rows to normalise: `x`, or, with a residual, sum = x + residual of the same shape, which is written first and
// rounded to its dtype. REQUIRES with a residual: layer or RMS normalisation.
struct NormInput {
  View x;
  View residual = {};  // any float; null for none
  View sum = {};
};

// [channels], contiguous, f32 (f64 for f64 inputs); null for none.
struct NormAffine {
  View weight;
  View bias;
};

// [rows], f64, contiguous. The variance is the biased one; for RMS it is the mean square. A number below 0 that a
// kernel wrote is minus the standard deviation, of a row whose variance is beyond f64 (backend/formula/norm_range.h).
struct NormStatistics {
  View mean;
  View variance;
};

// The statistics of a batch, towards which running statistics move.
struct RunningUpdate {
  NormStatistics batch;         // null where the batch is empty: then only the batches are counted
  double variance_scale = 1.0;  // of the biased variance: count / (count - 1) makes it unbiased
  double momentum = 0.1;        // the share of the batch
  bool is_cumulative = false;   // the share is 1 / (batches so far + 1), which makes means over all batches
};

// [channels], f32 or f64 each, any strides; and the number of batches so far, one i64, null if they are not counted.
struct RunningViews {
  View mean;
  View variance;
  View batches;
};

// The inputs of backward: values that forward saved, and the result's gradient.
struct NormSaved {
  View grad_output;
  View x;  // the sum, if there was a residual
  View weight;
  NormStatistics statistics;
  View grad_sum = {};  // the gradient of the sum itself, added to that of the input; null for none
};

// The outputs of backward; null for gradients that are not wanted. The rows are cut into `pieces`, and each piece has
// its own sums: [pieces, channels], contiguous, f32 (f64 for f64 inputs).
struct NormGrads {
  View input;
  View weight_sums;
  View bias_sums;
  int64_t pieces = 1;
};

// The targets of rows of classes.
struct ClassTargets {
  View indices;          // [n] i64
  View weight;           // [c] weight of each class, f32 (f64 for f64 rows), contiguous; null data if all are 1
  int64_t ignore_index;  // a row with this target has loss 0, weight 0 and no gradient
  double label_smoothing;
};

// One value per row, f32 (f64 for f64 rows), contiguous.
struct ClassLosses {
  View losses;       // [n], weighted
  View row_weights;  // [n], the weight of the row's target
  View normalizers;  // [n, 2]: the largest logit and the sum of exp(logit - largest), for backward
};

// Softmax and its relatives along one dimension; all arithmetic in FP32 (f64: double). A row of only -inf gives NaN, as
// in PyTorch. Inputs and outputs are floats, any mixture of dtypes, any strides.
struct NormKernels {
  Status (*softmax)(Stream&, const View& x, int dim, const View& out) noexcept;
  Status (*log_softmax)(Stream&, const View& x, int dim, const View& out) noexcept;
  // `result` is the output of the forward kernel.
  Status (*softmax_backward)(Stream&, const View& grad_output, const View& result, int dim,
                             const View& grad_input) noexcept;
  Status (*log_softmax_backward)(Stream&, const View& grad_output, const View& result, int dim,
                                 const View& grad_input) noexcept;
  // Cross entropy of rows of logits [n, c], any float. A target that is neither in [0, c) nor ignored returns
  // INVALID_ARGUMENT before anything is written.
  Status (*cross_entropy)(Stream&, const View& logits, const ClassTargets& targets, const ClassLosses& out) noexcept;
  // grad_rows [n] holds the gradients of the rows' losses; forward wrote the normalizers.
  Status (*cross_entropy_backward)(Stream&, const View& grad_rows, const View& logits, const ClassTargets& targets,
                                   const View& normalizers, const View& grad_logits) noexcept;
  // Negative log-likelihood of log-probabilities [n, c]: as cross_entropy, without smoothing and normalizers.
  Status (*nll)(Stream&, const View& log_probabilities, const ClassTargets& targets, const ClassLosses& out) noexcept;
  Status (*nll_backward)(Stream&, const View& grad_rows, const ClassTargets& targets, const View& grad_input) noexcept;

  // out = (x - mean) / sqrt(variance + epsilon) * weight + bias; mean and variance in two passes. `out` has x's shape
  // and any float dtype. `statistics` are written, or read if kGiven.
  Status (*row_norm)(Stream&, const RowNorm&, const NormInput&, const NormAffine&, const NormStatistics& statistics,
                     const View& out) noexcept;
  // Writes every piece's sums; the gradients are the pieces added in order. Writes nothing if x is empty.
  Status (*row_norm_backward)(Stream&, const RowNorm&, const NormSaved&, const NormGrads& out_grads) noexcept;
  // running = (1 - share) * running + share * batch, in double, rounded once; then counts the batch. The share is
  // computed where the count is, so that no caller waits for it. A result of finite numbers that is beyond the dtype
  // becomes its largest finite number.
  Status (*update_running)(Stream&, const RunningUpdate&, const RunningViews& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_NORM_ENTRIES(X)         \
  X(NormKernels, softmax)                \
  X(NormKernels, log_softmax)            \
  X(NormKernels, softmax_backward)       \
  X(NormKernels, log_softmax_backward)   \
  X(NormKernels, cross_entropy)          \
  X(NormKernels, cross_entropy_backward) \
  X(NormKernels, nll)                    \
  X(NormKernels, nll_backward)           \
  X(NormKernels, row_norm)               \
  X(NormKernels, row_norm_backward)      \
  X(NormKernels, update_running)

}  // namespace halftone
