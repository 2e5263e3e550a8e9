/* The normalisation operations against central differences. */
#include "gradcheck.h"

static const int64_t kLast[] = {5};
static const int64_t kLastTwo[] = {3, 4};

static htone_status layer(htone_tensor* const* in, htone_tensor** out) {
  return htone_layer_norm(in[0], 1, kLast, NULL, NULL, 1e-3, out);
}
static htone_status layer_affine(htone_tensor* const* in, htone_tensor** out) {
  return htone_layer_norm(in[0], 1, kLast, in[1], in[2], 1e-3, out);
}
static htone_status layer_of_two_dimensions(htone_tensor* const* in, htone_tensor** out) {
  return htone_layer_norm(in[0], 2, kLastTwo, in[1], in[2], 1e-3, out);
}
static htone_status layer_with_a_bias_alone(htone_tensor* const* in, htone_tensor** out) {
  return htone_layer_norm(in[0], 1, kLast, NULL, in[1], 1e-3, out);
}
static htone_status rms(htone_tensor* const* in, htone_tensor** out) {
  return htone_rms_norm(in[0], 1, kLast, NULL, 1e-3, out);
}
static htone_status rms_weighted(htone_tensor* const* in, htone_tensor** out) {
  return htone_rms_norm(in[0], 2, kLastTwo, in[1], 1e-3, out);
}
static htone_status group(htone_tensor* const* in, htone_tensor** out) {
  return htone_group_norm(in[0], 2, NULL, NULL, 1e-3, out);
}
static htone_status group_affine(htone_tensor* const* in, htone_tensor** out) {
  return htone_group_norm(in[0], 2, in[1], in[2], 1e-3, out);
}

static htone_status batch(htone_tensor* const* in, htone_tensor** out) {
  return htone_batch_norm(in[0], NULL, NULL, NULL, NULL, 1, 0.1, 1e-3, out);
}
static htone_status batch_affine(htone_tensor* const* in, htone_tensor** out) {
  return htone_batch_norm(in[0], NULL, NULL, in[1], in[2], 1, 0.1, 1e-3, out);
}
static htone_status batch_in_evaluation(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor* mean = make_tensor(HTONE_F64, (const double[]){0.5, -1, 0.25}, 1, 3);
  htone_tensor* variance = make_tensor(HTONE_F64, (const double[]){0.5, 2, 1}, 1, 3);
  return htone_batch_norm(in[0], mean, variance, in[1], in[2], 0, 0.1, 1e-3, out);
}

static const GradCase kCases[] = {
    {"gradient_of_layer_norm", layer, 1, {{2, {4, 5}}}},
    {"gradient_of_layer_norm_with_weight_and_bias", layer_affine, 3, {{3, {2, 3, 5}}, {1, {5}}, {1, {5}}}},
    {"gradient_of_layer_norm_of_two_dimensions",
     layer_of_two_dimensions,
     3,
     {{3, {2, 3, 4}}, {2, {3, 4}}, {2, {3, 4}}}},
    {"gradient_of_layer_norm_with_a_bias_alone", layer_with_a_bias_alone, 2, {{2, {3, 5}}, {1, {5}}}},
    {"gradient_of_rms_norm", rms, 1, {{3, {2, 2, 5}}}},
    {"gradient_of_rms_norm_with_a_weight", rms_weighted, 2, {{3, {2, 3, 4}}, {2, {3, 4}}}},
    {"gradient_of_group_norm", group, 1, {{3, {2, 4, 3}}}},
    {"gradient_of_group_norm_with_weight_and_bias", group_affine, 3, {{4, {2, 4, 3, 2}}, {1, {4}}, {1, {4}}}},
    {"gradient_of_group_norm_of_rows", group_affine, 3, {{2, {3, 6}}, {1, {6}}, {1, {6}}}},
    {"gradient_of_batch_norm", batch, 1, {{2, {4, 3}}}},
    {"gradient_of_batch_norm_with_weight_and_bias", batch_affine, 3, {{4, {2, 3, 2, 2}}, {1, {3}}, {1, {3}}}},
    {"gradient_of_batch_norm_of_rows", batch_affine, 3, {{2, {4, 5}}, {1, {5}}, {1, {5}}}},
    {"gradient_of_batch_norm_in_evaluation", batch_in_evaluation, 3, {{3, {2, 3, 3}}, {1, {3}}, {1, {3}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
