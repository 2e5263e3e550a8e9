// Kernels that normalise: softmax and what is computed from it, and the normalisation layers.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// Where the statistics of a row come from: its mean and variance, its mean square (and 0 for the mean), or the caller.
enum class RowStatistics : int32_t { kMeanAndVariance, kMeanSquare, kGiven };

// How layer, group, RMS and batch normalisation see a tensor: its elements in row-major order are `rows` rows of equal
// length, each normalised on its own. Every `spatial` neighbours of a row belong to one channel; rows r and r + groups
// have the same channels. Layer and RMS normalisation: groups 1 and spatial 1.
struct RowNorm {
  RowStatistics statistics = RowStatistics::kMeanAndVariance;
  double epsilon = 0.0;
  int64_t rows = 1;
  int64_t groups = 1;
  int64_t spatial = 1;
};

// [channels], contiguous, f32 (f64 for f64 inputs); null where there is none.
struct NormAffine {
  View weight;
  View bias;
};

// [rows], f64, contiguous. The variance is the biased one, for RMS the mean square.
struct NormStatistics {
  View mean;
  View variance;
};

// What backward needs of forward, and the result's gradient.
struct NormSaved {
  View grad_output;
  View x;
  View weight;
  NormStatistics statistics;
};

// What backward writes; null where a gradient is not wanted. The rows are cut into `pieces`, and each piece has its own
// sums: [pieces, channels], contiguous, f32 (f64 for f64 inputs).
struct NormGrads {
  View input;
  View weight_sums;
  View bias_sums;
  int64_t pieces = 1;
};

// What rows of classes are compared with.
struct ClassTargets {
  View indices;          // [n] i64
  View weight;           // [c] f32 (f64 for f64 rows), contiguous, of each class; null data where all are 1
  int64_t ignore_index;  // a row with this target has loss 0, weight 0 and no gradient
  double label_smoothing;
};

// What is known of each row: f32 (f64 for f64 rows), contiguous.
struct ClassLosses {
  View losses;       // [n], weighted
  View row_weights;  // [n], the weight of the row's target
  View normalizers;  // [n, 2]: the largest logit and the sum of exp(logit - largest), for backward
};

// Softmax and its relatives along one dimension; all arithmetic in FP32 (f64: double). A row that is -inf throughout
// gives NaN, as in PyTorch. Inputs and outputs are floats of any mixture, any strides.
struct NormKernels {
  Status (*softmax)(Stream&, const View& x, int dim, const View& out) noexcept;
  Status (*log_softmax)(Stream&, const View& x, int dim, const View& out) noexcept;
  // `result` is the forward op's result.
  Status (*softmax_backward)(Stream&, const View& grad_output, const View& result, int dim,
                             const View& grad_input) noexcept;
  Status (*log_softmax_backward)(Stream&, const View& grad_output, const View& result, int dim,
                                 const View& grad_input) noexcept;
  // Cross entropy of rows of logits [n, c] float. A target that is neither in [0, c) nor ignored is INVALID_ARGUMENT,
  // found before anything is written.
  Status (*cross_entropy)(Stream&, const View& logits, const ClassTargets& targets, const ClassLosses& out) noexcept;
  // grad_rows [n] holds the gradients of the rows' losses; normalizers are those of the forward op.
  Status (*cross_entropy_backward)(Stream&, const View& grad_rows, const View& logits, const ClassTargets& targets,
                                   const View& normalizers, const View& grad_logits) noexcept;
  // The same of log-probabilities [n, c], without smoothing; writes no normalizers.
  Status (*nll)(Stream&, const View& log_probabilities, const ClassTargets& targets, const ClassLosses& out) noexcept;
  Status (*nll_backward)(Stream&, const View& grad_rows, const ClassTargets& targets, const View& grad_input) noexcept;

  // out = (x - mean) / sqrt(variance + epsilon) weight + bias; mean and variance in two passes. `out` has x's shape,
  // any float. `statistics` are written, or read where they are given.
  Status (*row_norm)(Stream&, const RowNorm&, const View& x, const NormAffine&, const NormStatistics& statistics,
                     const View& out) noexcept;
  // Every piece's sums are written, so that adding them in order gives the gradients; nothing where x is empty.
  Status (*row_norm_backward)(Stream&, const RowNorm&, const NormSaved&, const NormGrads& out_grads) noexcept;
};

}  // namespace halftone
