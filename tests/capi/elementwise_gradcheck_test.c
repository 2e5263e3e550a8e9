/* Every operation of elementwise.h and compare.h that leads gradients, against central differences. */
#include "gradcheck.h"

/* Applies a function to in^2 + 0.5, which stays where logarithms and roots are smooth. */
static htone_status of_positive(UnaryFn function, htone_tensor* input, htone_tensor** out) {
  htone_tensor *squared = NULL, *positive = NULL;
  htone_status status = htone_mul(input, input, &squared);
  if (status == HTONE_OK) status = htone_rescale(squared, 1, 0.5, &positive);
  if (status == HTONE_OK) status = function(positive, out);
  htone_tensor_release(squared);
  htone_tensor_release(positive);
  return status;
}

static htone_status exp_of(htone_tensor* const* in, htone_tensor** out) { return htone_exp(in[0], out); }
static htone_status log_of(htone_tensor* const* in, htone_tensor** out) { return of_positive(htone_log, in[0], out); }
static htone_status sqrt_of(htone_tensor* const* in, htone_tensor** out) { return of_positive(htone_sqrt, in[0], out); }
static htone_status rsqrt_of(htone_tensor* const* in, htone_tensor** out) {
  return of_positive(htone_rsqrt, in[0], out);
}
static htone_status reciprocal_of(htone_tensor* const* in, htone_tensor** out) {
  return of_positive(htone_reciprocal, in[0], out);
}
static htone_status abs_of(htone_tensor* const* in, htone_tensor** out) { return htone_abs(in[0], out); }
static htone_status neg_of(htone_tensor* const* in, htone_tensor** out) { return htone_neg(in[0], out); }
static htone_status sin_of(htone_tensor* const* in, htone_tensor** out) { return htone_sin(in[0], out); }
static htone_status cos_of(htone_tensor* const* in, htone_tensor** out) { return htone_cos(in[0], out); }
static htone_status sigmoid_of(htone_tensor* const* in, htone_tensor** out) { return htone_sigmoid(in[0], out); }
static htone_status tanh_of(htone_tensor* const* in, htone_tensor** out) { return htone_tanh(in[0], out); }
static htone_status silu_of(htone_tensor* const* in, htone_tensor** out) { return htone_silu(in[0], out); }
static htone_status softplus_of(htone_tensor* const* in, htone_tensor** out) { return htone_softplus(in[0], out); }

static htone_status maximum_of(htone_tensor* const* in, htone_tensor** out) { return htone_maximum(in[0], in[1], out); }
static htone_status minimum_of(htone_tensor* const* in, htone_tensor** out) { return htone_minimum(in[0], in[1], out); }
static htone_status clamp_of(htone_tensor* const* in, htone_tensor** out) { return htone_clamp(in[0], -0.4, 0.3, out); }
static htone_status cube_of(htone_tensor* const* in, htone_tensor** out) { return htone_pow_scalar(in[0], 3, out); }
static htone_status square_of(htone_tensor* const* in, htone_tensor** out) { return htone_pow_scalar(in[0], 2, out); }
static htone_status root_of(htone_tensor* input, htone_tensor** out) { return htone_pow_scalar(input, -0.3, out); }
static htone_status negative_power_of(htone_tensor* const* in, htone_tensor** out) {
  return of_positive(root_of, in[0], out);
}

static htone_status pow_of(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor *squared = NULL, *base = NULL;
  htone_status status = htone_mul(in[0], in[0], &squared);
  if (status == HTONE_OK) status = htone_rescale(squared, 1, 0.5, &base);
  if (status == HTONE_OK) status = htone_pow(base, in[1], out);
  htone_tensor_release(squared);
  htone_tensor_release(base);
  return status;
}

static htone_status where_of(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor* condition =
      make_tensor(HTONE_BOOL, (const double[]){1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1}, 2, 3, 5);
  return htone_where(condition, in[0], in[1], out);
}

static const GradCase kCases[] = {
    {"gradient_of_exp", exp_of, 1, {{2, {7, 5}}}},
    {"gradient_of_log", log_of, 1, {{2, {7, 5}}}},
    {"gradient_of_sqrt", sqrt_of, 1, {{2, {7, 5}}}},
    {"gradient_of_rsqrt", rsqrt_of, 1, {{2, {7, 5}}}},
    {"gradient_of_reciprocal", reciprocal_of, 1, {{2, {7, 5}}}},
    {"gradient_of_abs", abs_of, 1, {{2, {7, 5}}}},
    {"gradient_of_neg", neg_of, 1, {{2, {7, 5}}}},
    {"gradient_of_sin", sin_of, 1, {{2, {7, 5}}}},
    {"gradient_of_cos", cos_of, 1, {{2, {7, 5}}}},
    {"gradient_of_sigmoid", sigmoid_of, 1, {{2, {7, 5}}}},
    {"gradient_of_tanh", tanh_of, 1, {{2, {7, 5}}}},
    {"gradient_of_silu", silu_of, 1, {{2, {7, 5}}}},
    {"gradient_of_softplus", softplus_of, 1, {{2, {7, 5}}}},
    {"gradient_of_maximum", maximum_of, 2, {{2, {7, 5}}, {2, {7, 5}}}},
    {"gradient_of_maximum_broadcast_both_ways", maximum_of, 2, {{2, {7, 1}}, {3, {2, 1, 5}}}},
    {"gradient_of_minimum", minimum_of, 2, {{2, {7, 5}}, {2, {7, 5}}}},
    {"gradient_of_minimum_of_a_scalar", minimum_of, 2, {{0, {0}}, {2, {7, 5}}}},
    {"gradient_of_clamp", clamp_of, 1, {{2, {7, 5}}}},
    {"gradient_of_a_cube", cube_of, 1, {{2, {7, 5}}}},
    {"gradient_of_a_square", square_of, 1, {{2, {7, 5}}}},
    {"gradient_of_a_negative_power", negative_power_of, 1, {{2, {7, 5}}}},
    {"gradient_of_pow", pow_of, 2, {{2, {7, 5}}, {2, {7, 5}}}},
    {"gradient_of_pow_broadcast_both_ways", pow_of, 2, {{2, {7, 1}}, {3, {2, 1, 5}}}},
    {"gradient_of_where", where_of, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_where_broadcast_three_ways", where_of, 2, {{1, {5}}, {3, {2, 1, 1}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
