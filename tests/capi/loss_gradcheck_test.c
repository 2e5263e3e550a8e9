/* Every operation of loss.h, against central differences. */
#include "gradcheck.h"
#include "halftone/loss.h"

static htone_status mse_mean(htone_tensor* const* in, htone_tensor** out) {
  return htone_mse_loss(in[0], in[1], HTONE_REDUCTION_MEAN, out);
}
static htone_status mse_none(htone_tensor* const* in, htone_tensor** out) {
  return htone_mse_loss(in[0], in[1], HTONE_REDUCTION_NONE, out);
}
static htone_status l1_sum(htone_tensor* const* in, htone_tensor** out) {
  return htone_l1_loss(in[0], in[1], HTONE_REDUCTION_SUM, out);
}
static htone_status smooth_l1_mean(htone_tensor* const* in, htone_tensor** out) {
  return htone_smooth_l1_loss(in[0], in[1], 0.4, HTONE_REDUCTION_MEAN, out);
}
/* Of squares, which are no logarithms' arguments below 0. */
static htone_status kl_div_batch_mean(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor *squared = NULL, *probabilities = NULL;
  htone_status status = htone_mul(in[1], in[1], &squared);
  if (status == HTONE_OK) status = htone_rescale(squared, 1, 0.25, &probabilities);
  if (status == HTONE_OK) status = htone_kl_div(in[0], probabilities, 0, HTONE_REDUCTION_BATCH_MEAN, out);
  htone_tensor_release(squared);
  htone_tensor_release(probabilities);
  return status;
}
static htone_status kl_div_of_logs(htone_tensor* const* in, htone_tensor** out) {
  return htone_kl_div(in[0], in[1], 1, HTONE_REDUCTION_NONE, out);
}
static htone_status bce_mean(htone_tensor* const* in, htone_tensor** out) {
  return htone_bce_with_logits(in[0], in[1], NULL, HTONE_REDUCTION_MEAN, out);
}
static htone_status bce_weighted(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor* weight = make_tensor(HTONE_F64, (const double[]){0.5, 1, 3}, 1, 3);
  return htone_bce_with_logits(in[0], in[1], weight, HTONE_REDUCTION_NONE, out);
}

static htone_tensor* targets(void) { return make_tensor(HTONE_I64, (const double[]){2, 0, -100, 1, 2}, 1, 5); }
static htone_tensor* weights(void) { return make_tensor(HTONE_F64, (const double[]){0.5, 1, 3}, 1, 3); }

static htone_status cross_entropy_as(htone_tensor* logits, htone_reduction reduction, double smoothing, int weighted,
                                     htone_tensor** out) {
  htone_cross_entropy_options options;
  htone_status status = htone_cross_entropy_options_init(&options);
  options.reduction = reduction;
  options.label_smoothing = smoothing;
  if (status != HTONE_OK) return status;
  return htone_cross_entropy_with(logits, targets(), weighted ? weights() : NULL, &options, out);
}
static htone_status cross_entropy_ignoring(htone_tensor* const* in, htone_tensor** out) {
  return cross_entropy_as(in[0], HTONE_REDUCTION_MEAN, 0, 0, out);
}
static htone_status cross_entropy_smooth(htone_tensor* const* in, htone_tensor** out) {
  return cross_entropy_as(in[0], HTONE_REDUCTION_SUM, 0.1, 0, out);
}
static htone_status cross_entropy_all(htone_tensor* const* in, htone_tensor** out) {
  return cross_entropy_as(in[0], HTONE_REDUCTION_MEAN, 0.2, 1, out);
}
static htone_status cross_entropy_rows(htone_tensor* const* in, htone_tensor** out) {
  return cross_entropy_as(in[0], HTONE_REDUCTION_NONE, 0.2, 1, out);
}
static htone_status nll_mean(htone_tensor* const* in, htone_tensor** out) {
  return htone_nll_loss(in[0], targets(), weights(), -100, HTONE_REDUCTION_MEAN, out);
}
static htone_status nll_rows(htone_tensor* const* in, htone_tensor** out) {
  return htone_nll_loss(in[0], targets(), NULL, -100, HTONE_REDUCTION_NONE, out);
}

static const GradCase kCases[] = {
    {"gradient_of_mse_loss", mse_mean, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_mse_loss_of_elements", mse_none, 2, {{3, {2, 3, 2}}, {3, {2, 3, 2}}}},
    {"gradient_of_l1_loss", l1_sum, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_smooth_l1_loss", smooth_l1_mean, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_kl_div", kl_div_batch_mean, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_kl_div_of_logarithms", kl_div_of_logs, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_bce_with_logits", bce_mean, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"gradient_of_bce_with_weighted_positives", bce_weighted, 2, {{2, {4, 3}}, {2, {4, 3}}}},
    {"gradient_of_cross_entropy_with_an_ignored_row", cross_entropy_ignoring, 1, {{2, {5, 3}}}},
    {"gradient_of_cross_entropy_with_smoothed_labels", cross_entropy_smooth, 1, {{2, {5, 3}}}},
    {"gradient_of_cross_entropy_with_everything", cross_entropy_all, 1, {{2, {5, 3}}}},
    {"gradient_of_cross_entropy_of_rows", cross_entropy_rows, 1, {{2, {5, 3}}}},
    {"gradient_of_nll_loss", nll_mean, 1, {{2, {5, 3}}}},
    {"gradient_of_nll_loss_of_rows", nll_rows, 1, {{2, {5, 3}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
