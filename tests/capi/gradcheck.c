#include "gradcheck.h"

#include <math.h>
#include <stdlib.h>

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
  htone_tensor* leaves[kMaxGradInputs];
  htone_tensor* weights; /* of the result's elements in the loss, so that every element counts differently */
} Check;

/* Answers an owned tensor. */
static htone_tensor* forward(const Check* check) {
  const GradCase* c = check->grad_case;
  htone_tensor *inputs[kMaxGradInputs] = {NULL}, *out = NULL;
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
  run_check(*state, 0);
  run_check(*state, 1);
}

int run_grad_cases(int argc, char** argv, const GradCase* cases, size_t count) {
  struct CMUnitTest* tests = calloc(count, sizeof *tests);
  assert_non_null(tests);
  for (size_t i = 0; i < count; ++i) {
    tests[i] = (struct CMUnitTest){cases[i].name, gradient_equals_differences, NULL, NULL, (void*)&cases[i]};
  }
  const int result = run_program(argc, argv, tests, count);
  free(tests);
  return result;
}
