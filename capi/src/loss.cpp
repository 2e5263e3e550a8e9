#include "halftone/loss.h"

#include "arguments.h"
#include "guard.h"
#include "ops/ops.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(LossReduction::kMean) == HTONE_REDUCTION_MEAN);
static_assert(static_cast<int32_t>(LossReduction::kSum) == HTONE_REDUCTION_SUM);
static_assert(static_cast<int32_t>(LossReduction::kNone) == HTONE_REDUCTION_NONE);
static_assert(static_cast<int32_t>(LossReduction::kBatchMean) == HTONE_REDUCTION_BATCH_MEAN);

namespace {

// `argument` is the parameter that holds the reduction.
LossReduction checked_reduction(htone_reduction reduction, htone_reduction last = HTONE_REDUCTION_NONE,
                                const char* argument = "reduction") {
  if (reduction < HTONE_REDUCTION_MEAN || reduction > last) {
    fail(Code::kInvalidArgument, argument, "reduction=%d is outside [%d, %d]", reduction, HTONE_REDUCTION_MEAN, last);
  }
  return static_cast<LossReduction>(reduction);
}

htone_cross_entropy_options default_options() {
  htone_cross_entropy_options options = {};
  options.struct_size = sizeof options;
  options.ignore_index = -100;
  return options;
}

ops::ClassLossOptions checked_options(const htone_cross_entropy_options* options) {
  const htone_cross_entropy_options given = options_or_default(options, default_options());
  if (!(given.label_smoothing >= 0 && given.label_smoothing <= 1)) {
    fail(Code::kInvalidArgument, "options", "options.label_smoothing=%g is outside [0, 1]", given.label_smoothing);
  }
  return {.reduction = checked_reduction(given.reduction, HTONE_REDUCTION_NONE, "options"),
          .ignore_index = given.ignore_index,
          .label_smoothing = given.label_smoothing};
}

}  // namespace

htone_status htone_mse_loss(htone_tensor* input, htone_tensor* target, htone_reduction reduction, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::mse_loss(x, unwrap(target, "target"), checked_reduction(reduction)));
  });
}

htone_status htone_l1_loss(htone_tensor* input, htone_tensor* target, htone_reduction reduction, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::l1_loss(x, unwrap(target, "target"), checked_reduction(reduction)));
  });
}

htone_status htone_smooth_l1_loss(htone_tensor* input, htone_tensor* target, double beta, htone_reduction reduction,
                                  htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Tensor& t = unwrap(target, "target");
    require_finite(beta, "beta");
    if (beta < 0) fail(Code::kInvalidArgument, "beta", "beta=%g is negative", beta);
    wrap(out, ops::smooth_l1_loss(x, t, beta, checked_reduction(reduction)));
  });
}

htone_status htone_kl_div(htone_tensor* input, htone_tensor* target, int32_t log_target, htone_reduction reduction,
                          htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Tensor& t = unwrap(target, "target");
    wrap(out, ops::kl_div(x, t, log_target != 0, checked_reduction(reduction, HTONE_REDUCTION_BATCH_MEAN)));
  });
}

htone_status htone_bce_with_logits(htone_tensor* logits, htone_tensor* targets, htone_tensor* pos_weight,
                                   htone_reduction reduction, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(logits, "logits");
    const Tensor& t = unwrap(targets, "targets");
    const Tensor weight = unwrap_optional(pos_weight, "pos_weight");
    wrap(out, ops::bce_with_logits(x, t, weight, checked_reduction(reduction)));
  });
}

htone_status htone_cross_entropy_options_init(htone_cross_entropy_options* options) {
  return guard([&] { require(options, "options") = default_options(); });
}

htone_status htone_cross_entropy_with(htone_tensor* logits, htone_tensor* targets, htone_tensor* weight,
                                      const htone_cross_entropy_options* options, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(logits, "logits");
    const Tensor& t = unwrap(targets, "targets");
    const Tensor w = unwrap_optional(weight, "weight");
    wrap(out, ops::cross_entropy(x, t, w, checked_options(options)));
  });
}

htone_status htone_nll_loss(htone_tensor* log_probabilities, htone_tensor* targets, htone_tensor* weight,
                            int64_t ignore_index, htone_reduction reduction, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(log_probabilities, "log_probabilities");
    const Tensor& t = unwrap(targets, "targets");
    const Tensor w = unwrap_optional(weight, "weight");
    wrap(out, ops::nll_loss(x, t, w, {.reduction = checked_reduction(reduction), .ignore_index = ignore_index}));
  });
}
