#include "halftone/loss.h"

#include "base/call.h"
#include "ops/loss/loss.h"
#include "ops/loss_arguments.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(LossReduction::kMean) == HTONE_REDUCTION_MEAN);
static_assert(static_cast<int32_t>(LossReduction::kSum) == HTONE_REDUCTION_SUM);
static_assert(static_cast<int32_t>(LossReduction::kNone) == HTONE_REDUCTION_NONE);
static_assert(static_cast<int32_t>(LossReduction::kBatchMean) == HTONE_REDUCTION_BATCH_MEAN);

namespace {

LossReduction divergence_reduction(htone_reduction reduction, ArgumentName name) {
  return reduction_up_to(HTONE_REDUCTION_BATCH_MEAN, reduction, name);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& variance, int32_t full,
                         double epsilon, LossReduction reduction) {
  return ops::gaussian_nll_loss(input, target, variance,
                                {.full = full != 0, .epsilon = epsilon, .reduction = reduction});
}

// The options of a cross entropy, and the weights among them.
struct CrossEntropySettings {
  ops::ClassLossOptions options;
  Tensor weight;  // undefined if all classes weigh the same
};

CrossEntropySettings cross_entropy_settings(const htone_cross_entropy_options* options) {
  const htone_cross_entropy_options given =
      options_or_default(options, htone_cross_entropy_options(HTONE_CROSS_ENTROPY_OPTIONS_INIT));
  if (!(given.label_smoothing >= 0 && given.label_smoothing <= 1)) {
    fail(Code::kInvalidArgument, "options", "options.label_smoothing=%g is outside [0, 1]", given.label_smoothing);
  }
  return {.options = {.reduction = loss_reduction(given.reduction, "options"),
                      .ignore_index = given.ignore_index,
                      .label_smoothing = given.label_smoothing},
          .weight = given.weight == nullptr ? Tensor() : object_of(given.weight, "options.weight")};
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropySettings& settings) {
  return ops::cross_entropy(logits, targets, settings.weight, settings.options);
}

Tensor linear_cross_entropy(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                            const CrossEntropySettings& settings) {
  return ops::linear_cross_entropy({input, weight, bias}, targets, settings.weight, settings.options);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& weight, int64_t ignore_index,
                LossReduction reduction) {
  return ops::nll_loss(log_probabilities, targets, weight, {.reduction = reduction, .ignore_index = ignore_index});
}

}  // namespace

htone_status htone_mse_loss(htone_tensor* input, htone_tensor* target, htone_reduction reduction, htone_tensor** out) {
  return Pure(ops::mse_loss, input, target, as<loss_reduction>(reduction), out);
}

htone_status htone_l1_loss(htone_tensor* input, htone_tensor* target, htone_reduction reduction, htone_tensor** out) {
  return Pure(ops::l1_loss, input, target, as<loss_reduction>(reduction), out);
}

htone_status htone_smooth_l1_loss(htone_tensor* input, htone_tensor* target, double beta, htone_reduction reduction,
                                  htone_tensor** out) {
  return Pure(ops::smooth_l1_loss, input, target, as<not_negative>(beta), as<loss_reduction>(reduction), out);
}

htone_status htone_huber_loss(htone_tensor* input, htone_tensor* target, double delta, htone_reduction reduction,
                              htone_tensor** out) {
  return Pure(ops::huber_loss, input, target, as<positive_number>(delta), as<loss_reduction>(reduction), out);
}

htone_status htone_bce_loss(htone_tensor* input, htone_tensor* target, htone_tensor* weight, htone_reduction reduction,
                            htone_tensor** out) {
  return Pure(ops::bce_loss, input, target, optional(weight), as<loss_reduction>(reduction), out);
}

htone_status htone_gaussian_nll_loss(htone_tensor* input, htone_tensor* target, htone_tensor* variance, int32_t full,
                                     double epsilon, htone_reduction reduction, htone_tensor** out) {
  return Pure(gaussian_nll_loss, input, target, variance, full, as<not_negative>(epsilon),
              as<loss_reduction>(reduction), out);
}

htone_status htone_kl_div(htone_tensor* input, htone_tensor* target, int32_t log_target, htone_reduction reduction,
                          htone_tensor** out) {
  return Pure(ops::kl_div, input, target, log_target, as<divergence_reduction>(reduction), out);
}

htone_status htone_bce_with_logits(htone_tensor* logits, htone_tensor* targets, htone_tensor* pos_weight,
                                   htone_reduction reduction, htone_tensor** out) {
  return Pure(ops::bce_with_logits, logits, targets, optional(pos_weight), as<loss_reduction>(reduction), out);
}

htone_status htone_cross_entropy(htone_tensor* logits, htone_tensor* targets,
                                 const htone_cross_entropy_options* options, htone_tensor** out) {
  return Pure(cross_entropy, logits, targets, as<cross_entropy_settings>(options), out);
}

htone_status htone_linear_cross_entropy(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                        htone_tensor* targets, const htone_cross_entropy_options* options,
                                        htone_tensor** out) {
  return Pure(linear_cross_entropy, input, weight, optional(bias), targets, as<cross_entropy_settings>(options), out);
}

htone_status htone_nll_loss(htone_tensor* log_probabilities, htone_tensor* targets, htone_tensor* weight,
                            int64_t ignore_index, htone_reduction reduction, htone_tensor** out) {
  return Pure(nll_loss, log_probabilities, targets, optional(weight), ignore_index, as<loss_reduction>(reduction), out);
}
