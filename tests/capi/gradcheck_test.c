/* Every operation of ops.h that leads gradients, against central differences. */
#include "gradcheck.h"

static htone_status add(htone_tensor* const* in, htone_tensor** out) { return htone_add(in[0], in[1], out); }
static htone_status sub(htone_tensor* const* in, htone_tensor** out) { return htone_sub(in[0], in[1], out); }
static htone_status mul(htone_tensor* const* in, htone_tensor** out) { return htone_mul(in[0], in[1], out); }
static htone_status square(htone_tensor* const* in, htone_tensor** out) { return htone_mul(in[0], in[0], out); }
static htone_status matmul(htone_tensor* const* in, htone_tensor** out) { return htone_matmul(in[0], in[1], out); }
static htone_status linear(htone_tensor* const* in, htone_tensor** out) {
  return htone_linear(in[0], in[1], NULL, out);
}
static htone_status biased(htone_tensor* const* in, htone_tensor** out) {
  return htone_linear(in[0], in[1], in[2], out);
}
static htone_status relu(htone_tensor* const* in, htone_tensor** out) { return htone_relu(in[0], out); }
static htone_status gelu_erf(htone_tensor* const* in, htone_tensor** out) {
  return htone_gelu(in[0], HTONE_GELU_ERF, out);
}
static htone_status gelu_tanh(htone_tensor* const* in, htone_tensor** out) {
  return htone_gelu(in[0], HTONE_GELU_TANH, out);
}
static htone_status sum_all(htone_tensor* const* in, htone_tensor** out) { return htone_sum(in[0], 0, NULL, 0, out); }
static htone_status sum_some(htone_tensor* const* in, htone_tensor** out) {
  return htone_sum(in[0], 2, (const int64_t[]){-1, 0}, 0, out);
}
static htone_status sum_kept(htone_tensor* const* in, htone_tensor** out) {
  return htone_sum(in[0], 1, (const int64_t[]){1}, 1, out);
}
static htone_status mean_all(htone_tensor* const* in, htone_tensor** out) { return htone_mean(in[0], 0, NULL, 1, out); }
static htone_status mean_some(htone_tensor* const* in, htone_tensor** out) {
  return htone_mean(in[0], 1, (const int64_t[]){1}, 0, out);
}
static htone_status softmax_rows(htone_tensor* const* in, htone_tensor** out) { return htone_softmax(in[0], -1, out); }
static htone_status softmax_columns(htone_tensor* const* in, htone_tensor** out) {
  return htone_softmax(in[0], 0, out);
}
static htone_status log_softmax_rows(htone_tensor* const* in, htone_tensor** out) {
  return htone_log_softmax(in[0], -1, out);
}
static htone_status log_softmax_middle(htone_tensor* const* in, htone_tensor** out) {
  return htone_log_softmax(in[0], 1, out);
}
static htone_status cross_entropy(htone_tensor* const* in, htone_tensor** out) {
  return htone_cross_entropy(in[0], make_tensor(HTONE_I64, (const double[]){2, 0, 1, 1, 2}, 1, 5), out);
}
static htone_status reshape(htone_tensor* const* in, htone_tensor** out) {
  return htone_reshape(in[0], 2, (const int64_t[]){-1, 2}, out);
}
static htone_status transpose(htone_tensor* const* in, htone_tensor** out) {
  return htone_transpose(in[0], 0, -1, out);
}
static htone_status slice(htone_tensor* const* in, htone_tensor** out) { return htone_slice(in[0], 1, 1, 100, 2, out); }
static htone_status cast(htone_tensor* const* in, htone_tensor** out) { return htone_cast(in[0], HTONE_F64, out); }
static htone_status rescale(htone_tensor* const* in, htone_tensor** out) { return htone_rescale(in[0], -2.5, 3, out); }

/* The divisor stays away from 0. */
static htone_status div_safe(htone_tensor* const* in, htone_tensor** out) {
  htone_tensor *squared = NULL, *divisor = NULL;
  htone_status status = htone_mul(in[1], in[1], &squared);
  if (status == HTONE_OK) status = htone_rescale(squared, 1, 0.5, &divisor);
  if (status == HTONE_OK) status = htone_div(in[0], divisor, out);
  htone_tensor_release(squared);
  htone_tensor_release(divisor);
  return status;
}

static const GradCase kCases[] = {
    {"gradient_of_add", add, 2, {{2, {3, 5}}, {2, {3, 5}}}},
    {"gradient_of_add_of_a_row", add, 2, {{3, {2, 3, 5}}, {1, {5}}}},
    {"gradient_of_add_of_a_scalar", add, 2, {{0, {0}}, {2, {3, 2}}}},
    {"gradient_of_sub_broadcast_both_ways", sub, 2, {{3, {2, 1, 5}}, {2, {3, 1}}}},
    {"gradient_of_mul", mul, 2, {{1, {17}}, {1, {17}}}},
    {"gradient_of_mul_broadcast_both_ways", mul, 2, {{4, {2, 1, 3, 1}}, {3, {2, 1, 4}}}},
    {"gradient_of_mul_with_itself", square, 1, {{2, {3, 3}}}},
    {"gradient_of_div", div_safe, 2, {{2, {3, 4}}, {2, {3, 4}}}},
    {"gradient_of_div_broadcast_both_ways", div_safe, 2, {{2, {1, 4}}, {2, {3, 1}}}},
    {"gradient_of_matmul", matmul, 2, {{2, {3, 5}}, {2, {5, 2}}}},
    {"gradient_of_matmul_of_one", matmul, 2, {{2, {1, 1}}, {2, {1, 1}}}},
    {"gradient_of_matmul_of_batches", matmul, 2, {{3, {2, 3, 4}}, {3, {2, 4, 5}}}},
    {"gradient_of_matmul_broadcast_over_batches", matmul, 2, {{4, {2, 1, 3, 4}}, {3, {3, 4, 2}}}},
    {"gradient_of_matmul_of_batches_with_one_matrix", matmul, 2, {{3, {3, 2, 4}}, {2, {4, 3}}}},
    {"gradient_of_linear", linear, 2, {{2, {3, 4}}, {2, {5, 4}}}},
    {"gradient_of_linear_with_a_bias", biased, 3, {{3, {2, 3, 4}}, {2, {5, 4}}, {1, {5}}}},
    {"gradient_of_linear_on_a_row", biased, 3, {{1, {7}}, {2, {3, 7}}, {1, {3}}}},
    {"gradient_of_relu", relu, 1, {{2, {7, 5}}}},
    {"gradient_of_gelu_in_the_form_erf", gelu_erf, 1, {{2, {7, 5}}}},
    {"gradient_of_gelu_in_the_form_tanh", gelu_tanh, 1, {{2, {7, 5}}}},
    {"gradient_of_sum_of_all", sum_all, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_sum_of_some", sum_some, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_sum_with_kept_size", sum_kept, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_mean_of_all", mean_all, 1, {{2, {3, 7}}}},
    {"gradient_of_mean_of_some", mean_some, 1, {{3, {2, 3, 5}}}},
    {"gradient_of_softmax_of_rows", softmax_rows, 1, {{2, {4, 7}}}},
    {"gradient_of_softmax_of_columns", softmax_columns, 1, {{3, {4, 3, 2}}}},
    {"gradient_of_log_softmax_of_rows", log_softmax_rows, 1, {{2, {4, 7}}}},
    {"gradient_of_log_softmax_in_the_middle", log_softmax_middle, 1, {{3, {2, 5, 3}}}},
    {"gradient_of_cross_entropy", cross_entropy, 1, {{2, {5, 3}}}},
    {"gradient_of_reshape", reshape, 1, {{2, {4, 3}}}},
    {"gradient_of_transpose", transpose, 1, {{3, {2, 3, 4}}}},
    {"gradient_of_slice", slice, 1, {{2, {3, 6}}}},
    {"gradient_of_cast", cast, 1, {{1, {5}}}},
    {"gradient_of_rescale", rescale, 1, {{2, {3, 5}}}},
};

int main(int argc, char** argv) { return run_grad_cases(argc, argv, kCases, COUNT_OF(kCases)); }
