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
Tensor kl_div(const Tensor& input, const Tensor& target, bool log_target, LossReduction reduction);
// `pos_weight` may be undefined; it broadcasts to the logits and must not require a gradient.
Tensor bce_with_logits(const Tensor& logits, const Tensor& targets, const Tensor& pos_weight, LossReduction reduction);

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
