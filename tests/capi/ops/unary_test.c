/* Functions of unary.h: one value and gradient each, autocast, refusals. */
#include <math.h>

#include "test_tensors.h"

static htone_tensor* leaky_relu(htone_tensor* input, double slope) {
  htone_tensor* out = NULL;
  assert_ok(htone_leaky_relu(input, slope, &out));
  return keep_tensor(out);
}

static htone_tensor* elu(htone_tensor* input, double alpha) {
  htone_tensor* out = NULL;
  assert_ok(htone_elu(input, alpha, &out));
  return keep_tensor(out);
}

static const UnaryFn kSteps[] = {htone_floor, htone_ceil, htone_round, htone_sign};

static void floats_are_rounded_down_up_and_to_even(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){-2.5, -0.25, 0.5, 1.5}, 1, 4);
  assert_values(apply1(htone_floor, x), 0, -3, -1, 0, 1);
  assert_values(apply1(htone_ceil, x), 0, -2, 0, 1, 2);
  assert_values(apply1(htone_round, x), 0, -2, 0, 0, 2);
  assert_values(apply1(htone_sign, x), 0, -1, -1, 1, 1);
}

static void gradients_of_steps_are_zero(void** state) {
  (void)state;
  for (size_t k = 0; k < COUNT_OF(kSteps); ++k) {
    htone_tensor* x = leaf(make_tensor(HTONE_BF16, (const double[]){-1, 0, 0.5, 2}, 1, 4));
    htone_tensor* result = apply1(kSteps[k], x);
    assert_int_equal(requires_grad(result), 1);
    backward(sum_of(result));
    assert_int_equal(dtype_of(grad_of(x)), HTONE_BF16);
    assert_values(grad_of(x), 0, 0, 0, 0, 0);
  }
}

static void functions_have_their_values_and_derivatives(void** state) {
  (void)state;
  static const UnaryFn functions[] = {htone_log1p, htone_expm1, htone_erf};
  const double values[] = {log(3), exp(2) - 1, erf(2)}, slopes[] = {1.0 / 3, exp(2), 2 / sqrt(acos(-1)) * exp(-4)};
  for (size_t k = 0; k < COUNT_OF(functions); ++k) {
    htone_tensor* x = leaf(make_scalar(HTONE_F32, 2));
    htone_tensor* result = apply1(functions[k], x);
    assert_values(result, 1e-6, values[k]);
    backward(result);
    assert_values(grad_of(x), 1e-5, slopes[k]);
  }
}

static void activations_take_their_number(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){-2, 0, 3}, 1, 3));
  htone_tensor* result = leaky_relu(x, 0.25);
  assert_values(result, 0, -0.5, 0, 3);
  backward(sum_of(result));
  assert_values(grad_of(x), 0, 0.25, 0.25, 1);
  assert_ok(htone_tensor_zero_grad(x));
  result = elu(x, 2);
  assert_values(result, 1e-6, 2 * expm1(-2), 0, 3);
  backward(sum_of(result));
  assert_values(grad_of(x), 1e-6, 2 * exp(-2), 2, 1);
}

static void autocast_widens_what_pytorch_widens(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  htone_tensor* x = leaf(make_tensor(HTONE_BF16, (const double[]){0.75}, 1, 1));
  assert_int_equal(dtype_of(apply1(htone_log1p, x)), HTONE_F32);
  assert_int_equal(dtype_of(apply1(htone_expm1, x)), HTONE_F32);
  assert_int_equal(dtype_of(apply1(htone_erf, x)), HTONE_BF16);
  assert_int_equal(dtype_of(apply1(htone_floor, x)), HTONE_BF16);
  assert_int_equal(dtype_of(elu(x, 1)), HTONE_BF16);
  backward(sum_of(apply1(htone_log1p, x)));
  assert_int_equal(dtype_of(grad_of(x)), HTONE_BF16);
  assert_ok(htone_scope_end(scope));
}

static void other_dtypes_and_numbers_are_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *bools = make_ramp(HTONE_BOOL, 1, 2), *bytes = make_ramp(HTONE_F8E4M3, 1, 2);
  for (int k = 0; k < 3; ++k) {
    assert_fails(kSteps[k](bools, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is bool");
    assert_fails(kSteps[k](bytes, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is f8e4m3");
  }
  assert_fails(htone_erf(bytes, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is f8e4m3");
  assert_fails(htone_leaky_relu(make_ramp(HTONE_I32, 1, 2), 0.1, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is i32");
  assert_fails(htone_elu(make_ramp(HTONE_I32, 1, 2), 1, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is i32");
  assert_fails(htone_elu(make_ramp(HTONE_F32, 1, 2), NAN, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "alpha=nan is not finite");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_are_rounded_down_up_and_to_even),
      cmocka_unit_test(gradients_of_steps_are_zero),
      cmocka_unit_test(functions_have_their_values_and_derivatives),
      cmocka_unit_test(activations_take_their_number),
      cmocka_unit_test(autocast_widens_what_pytorch_widens),
      cmocka_unit_test(other_dtypes_and_numbers_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
