// The losses; capi/include/halftone/loss.h documents them.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// The reduction of the losses of elements or rows. Must match htone_reduction in capi/include/halftone/loss.h.
enum class LossReduction : int32_t { kMean = 0, kSum = 1, kNone = 2, kBatchMean = 3 };

namespace ops {

Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction);
Tensor l1_loss(const Tensor& input, const Tensor& target, LossReduction reduction);
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta, LossReduction reduction);
// `delta` is above 0.
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta, LossReduction reduction);
Tensor kl_div(const Tensor& input, const Tensor& target, bool log_target, LossReduction reduction);
// `pos_weight` may be undefined; it broadcasts to the logits and must not require a gradient.
Tensor bce_with_logits(const Tensor& logits, const Tensor& targets, const Tensor& pos_weight, LossReduction reduction);

// `weight` may be undefined; it broadcasts to the input.
Tensor bce_loss(const Tensor& input, const Tensor& target, const Tensor& weight, LossReduction reduction);

struct GaussianNllOptions {
  bool full = false;      // with the constant log(2 pi) / 2
  double epsilon = 1e-6;  // the least variance
  LossReduction reduction = LossReduction::kMean;
};
// `variance` has the input's shape, or that with a last dimension of 1, or without the last dimension.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& variance,
                         const GaussianNllOptions& options);

// Sequences of classes and their lengths. The log-probabilities are [t, n, c]; without n, neither targets nor lengths
// have it.
struct CtcTargets {
  Tensor targets;                        // [n, s], i64 or i32
  Tensor input_lengths, target_lengths;  // [n], i64 or i32
};
struct CtcOptions {
  int64_t blank = 0;
  LossReduction reduction = LossReduction::kMean;
  bool zero_infinity = false;
};
Tensor ctc_loss(const Tensor& log_probabilities, const CtcTargets& targets, const CtcOptions& options);

// Losses of distances; capi/include/halftone/distance.h documents them.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           LossReduction reduction);
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             LossReduction reduction);
struct Triplet {
  Tensor anchor, positive, negative;
};
struct TripletOptions {
  double margin = 1;
  double p = 2;
  double epsilon = 1e-6;
  bool swap = false;
  LossReduction reduction = LossReduction::kMean;
};
Tensor triplet_margin_loss(const Triplet& triplet, const TripletOptions& options);

struct ClassLossOptions {
  LossReduction reduction = LossReduction::kMean;
  int64_t ignore_index = -100;
  double label_smoothing = 0;
};
// `weight` [c] may be undefined; where the targets are classes it must not require a gradient.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& weight = {},
                     const ClassLossOptions& options = {});
// cross_entropy of linear(input, weight, bias), of which only some rows are in memory at a time. `bias` and
// `class_weight` may be undefined.
struct LinearHead {
  Tensor input;   // [..., k]
  Tensor weight;  // [c, k]
  Tensor bias;    // [c]
};
Tensor linear_cross_entropy(const LinearHead& head, const Tensor& targets, const Tensor& class_weight,
                            const ClassLossOptions& options);
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& weight,
                const ClassLossOptions& options);

}  // namespace ops
}  // namespace halftone
