/* Every differentiable operation against central differences in f64. Each case runs on leaves as they are and on leaves
 * that the operation sees through a transposed, strided view; shapes are odd and broadcast.
 */
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

enum { kMaxInputs = 3 };

typedef struct GradCase {
  const char* name;
  htone_status (*forward)(htone_tensor* const* inputs, htone_tensor** out);
  int input_count;
  struct {
    int ndim;
    int64_t shape[4];
  } inputs[kMaxInputs];
} GradCase;

static htone_tensor* targets; /* of the cross entropy */

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
  return htone_cross_entropy(in[0], targets, out);
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

/* A leaf from which `see` gives the wanted shape: as it is, or with the sizes reversed and the first one doubled, so
 * that the operation's input is transposed and has gaps. */
static htone_tensor* make_leaf(int ndim, const int64_t* shape, int strided, uint32_t seed) {
  int64_t sizes[4];
  for (int i = 0; i < ndim; ++i) sizes[i] = strided ? shape[ndim - 1 - i] : shape[i];
  if (strided && ndim > 0) sizes[0] *= 2;
  return leaf(make_noise_of_shape(HTONE_F64, seed, ndim, sizes));
}

/* Answers an owned tensor. */
static htone_tensor* see(htone_tensor* from, int ndim, int strided) {
  htone_tensor* seen = NULL;
  if (!strided || ndim == 0) {
    assert_ok(htone_tensor_retain(from));
    return from;
  }
  assert_ok(htone_slice(from, 0, 1, INT64_MAX, 2, &seen));
  for (int i = 0; i < ndim / 2; ++i) {
    htone_tensor* turned = NULL;
    assert_ok(htone_transpose(seen, i, ndim - 1 - i, &turned));
    assert_ok(htone_tensor_release(seen));
    seen = turned;
  }
  return seen;
}

typedef struct Check {
  const GradCase* grad_case;
  int strided;
  htone_tensor* leaves[kMaxInputs];
  htone_tensor* weights; /* of the result's elements in the loss, so that every element counts differently */
} Check;

/* Answers an owned tensor. */
static htone_tensor* forward(const Check* check) {
  const GradCase* c = check->grad_case;
  htone_tensor *inputs[kMaxInputs] = {NULL}, *out = NULL;
  for (int i = 0; i < c->input_count; ++i) inputs[i] = see(check->leaves[i], c->inputs[i].ndim, check->strided);
  assert_ok(c->forward(inputs, &out));
  for (int i = 0; i < c->input_count; ++i) assert_ok(htone_tensor_release(inputs[i]));
  return out;
}

/* Answers an owned scalar. */
static htone_tensor* loss_of(const Check* check) {
  htone_tensor *out = forward(check), *product = NULL, *loss = NULL;
  assert_ok(htone_mul(out, check->weights, &product));
  assert_ok(htone_sum(product, 0, NULL, 0, &loss));
  assert_ok(htone_tensor_release(out));
  assert_ok(htone_tensor_release(product));
  return loss;
}

static void make_weights(Check* check) {
  htone_tensor* out = forward(check);
  int64_t shape[HTONE_MAX_NDIM];
  int32_t ndim = 0;
  assert_ok(htone_tensor_shape(out, HTONE_MAX_NDIM, shape, &ndim));
  check->weights = make_noise_of_shape(HTONE_F64, 99, ndim, shape);
  assert_ok(htone_tensor_release(out));
}

static double loss_at(const Check* check, htone_tensor* moved, const double* values) {
  assert_ok(htone_tensor_write(moved, HTONE_F64, values, (size_t)numel_of(moved) * sizeof *values));
  htone_tensor* loss = loss_of(check);
  const double value = item_of(loss);
  assert_ok(htone_tensor_release(loss));
  return value;
}

static void compare_with_differences(const Check* check, htone_tensor* input) {
  const double h = 1e-4;
  double* values = values_of(input);
  double* gradient = values_of(grad_of(input));
  for (int64_t i = 0; i < numel_of(input); ++i) {
    const double value = values[i];
    values[i] = value + h;
    const double above = loss_at(check, input, values);
    values[i] = value - h;
    const double below = loss_at(check, input, values);
    values[i] = value;
    const double slope = (above - below) / (2 * h);
    if (!(fabs(slope - gradient[i]) <= 1e-6 * (1 + fabs(slope)))) print_error("element %d\n", (int)i);
    assert_near(gradient[i], slope, 1e-6 * (1 + fabs(slope)));
  }
  loss_at(check, input, values);
  free(values);
  free(gradient);
}

static void run_check(const GradCase* c, int strided) {
  Check check = {.grad_case = c, .strided = strided};
  for (int i = 0; i < c->input_count; ++i) {
    check.leaves[i] = make_leaf(c->inputs[i].ndim, c->inputs[i].shape, strided, 17 + (uint32_t)i);
  }
  make_weights(&check);
  backward(keep_tensor(loss_of(&check)));
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  for (int i = 0; i < c->input_count; ++i) compare_with_differences(&check, check.leaves[i]);
  assert_ok(htone_scope_end(scope));
}

static void gradient_equals_differences(void** state) {
  targets = make_tensor(HTONE_I64, (const double[]){2, 0, 1, 1, 2}, 1, 5);
  run_check(*state, 0);
  run_check(*state, 1);
}

int main(int argc, char** argv) {
  struct CMUnitTest tests[COUNT_OF(kCases)];
  for (size_t i = 0; i < COUNT_OF(kCases); ++i) {
    tests[i] = (struct CMUnitTest){kCases[i].name, gradient_equals_differences, NULL, NULL, (void*)&kCases[i]};
  }
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
