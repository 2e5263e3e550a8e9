/* Functions of unary.h: values, dtypes, gradients at special points, autocast, refusals. */
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

static const htone_dtype kFloats[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
static const UnaryFn kSteps[] = {htone_floor, htone_ceil, htone_round, htone_sign};

static void floats_are_rounded_down_up_and_to_even(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kFloats); ++i) {
    htone_tensor* x = make_tensor(kFloats[i], (const double[]){-2.5, -1.5, -0.25, 0, 0.5, 1.5, 2.75}, 1, 7);
    assert_int_equal(dtype_of(apply1(htone_floor, x)), kFloats[i]);
    assert_values(apply1(htone_floor, x), 0, -3, -2, -1, 0, 0, 1, 2);
    assert_values(apply1(htone_ceil, x), 0, -2, -1, 0, 0, 1, 2, 3);
    assert_values(apply1(htone_round, x), 0, -2, -2, 0, 0, 0, 2, 3);
    assert_values(apply1(htone_sign, x), 0, -1, -1, -1, 0, 1, 1, 1);
    htone_tensor* special = make_tensor(kFloats[i], (const double[]){NAN, INFINITY, -INFINITY}, 1, 3);
    for (int k = 0; k < 3; ++k) assert_values(apply1(kSteps[k], special), 0, NAN, INFINITY, -INFINITY);
    assert_values(apply1(htone_sign, special), 0, 0, 1, -1);
  }
}

static void integers_are_whole_already(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* x = make_tensor(dtypes[i], (const double[]){-7, 0, 3}, 1, 3);
    for (int k = 0; k < 3; ++k) {
      assert_int_equal(dtype_of(apply1(kSteps[k], x)), dtypes[i]);
      assert_values(apply1(kSteps[k], x), 0, -7, 0, 3);
    }
    assert_values(apply1(htone_sign, x), 0, -1, 0, 1);
    assert_int_equal(dtype_of(apply1(htone_sign, x)), dtypes[i]);
  }
  assert_values(apply1(htone_sign, make_tensor(HTONE_U8, (const double[]){0, 200}, 1, 2)), 0, 0, 1);
  htone_tensor* bools = make_tensor(HTONE_BOOL, (const double[]){0, 1}, 1, 2);
  assert_int_equal(dtype_of(apply1(htone_sign, bools)), HTONE_BOOL);
  assert_values(apply1(htone_sign, bools), 0, 0, 1);
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

static void functions_keep_their_digits_near_zero(void** state) {
  (void)state;
  const double tiny = 0x1p-70;
  const UnaryFn functions[] = {htone_log1p, htone_expm1};
  for (size_t k = 0; k < COUNT_OF(functions); ++k) {
    assert_values(apply1(functions[k], make_scalar(HTONE_F32, tiny)), 0, tiny);
    assert_values(apply1(functions[k], make_scalar(HTONE_F64, -tiny)), 0, -tiny);
    assert_int_equal(dtype_of(apply1(functions[k], make_ramp(HTONE_I32, 1, 2))), HTONE_F32);
  }
  assert_values(apply1(htone_log1p, make_tensor(HTONE_F32, (const double[]){-1, -2, 1, NAN}, 1, 4)), 1e-7, -INFINITY,
                NAN, log(2), NAN);
  assert_values(apply1(htone_expm1, make_tensor(HTONE_F32, (const double[]){-INFINITY, 1, 90}, 1, 3)), 1e-6, -1,
                exp(1) - 1, INFINITY);
  assert_values(apply1(htone_erf, make_tensor(HTONE_F32, (const double[]){-INFINITY, 0.5, 1e-3, INFINITY}, 1, 4)), 1e-7,
                -1, erf(0.5), erf(1e-3), 1);
  assert_values(apply1(htone_erf, make_tensor(HTONE_I64, (const double[]){1}, 1, 1)), 1e-7, erf(1));
}

static void gradients_are_the_derivatives(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){-0.5, 0, 2}, 1, 3));
  backward(sum_of(apply1(htone_log1p, x)));
  assert_values(grad_of(x), 1e-6, 2, 1, 1.0 / 3);
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(apply1(htone_expm1, x)));
  assert_values(grad_of(x), 1e-5, exp(-0.5), 1, exp(2));
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(apply1(htone_erf, x)));
  const double most = 2 / sqrt(acos(-1));
  assert_values(grad_of(x), 1e-6, most * exp(-0.25), most, most * exp(-4));
}

static void activations_take_their_number(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kFloats); ++i) {
    htone_tensor* x = leaf(make_tensor(kFloats[i], (const double[]){-2, 0, 3}, 1, 3));
    htone_tensor* result = leaky_relu(x, 0.25);
    assert_int_equal(dtype_of(result), kFloats[i]);
    assert_values(result, 0, -0.5, 0, 3);
    backward(sum_of(result));
    assert_values(grad_of(x), 0, 0.25, 0.25, 1);
    assert_ok(htone_tensor_zero_grad(x));
    result = elu(x, 2);
    assert_int_equal(dtype_of(result), kFloats[i]);
    assert_values(result, 0x1p-8, 2 * expm1(-2), 0, 3);
    backward(sum_of(result));
    assert_values(grad_of(x), 0x1p-8, 2 * exp(-2), 2, 1);
  }
  htone_tensor* special = make_tensor(HTONE_F32, (const double[]){NAN, -INFINITY, INFINITY}, 1, 3);
  assert_values(leaky_relu(special, 0.5), 0, NAN, -INFINITY, INFINITY);
  assert_values(elu(special, 0.5), 0, NAN, -0.5, INFINITY);
  assert_values(leaky_relu(make_tensor(HTONE_F32, (const double[]){-2, 2}, 1, 2), -1), 0, 2, 2);
}

static void strided_and_empty_inputs_are_taken(void** state) {
  (void)state;
  static const UnaryFn functions[] = {htone_floor, htone_ceil,  htone_round, htone_sign,
                                      htone_erf,   htone_log1p, htone_expm1};
  htone_tensor* turned = transpose_of(make_ramp(HTONE_F32, 2, 2, 3), 0, 1);
  for (size_t k = 0; k < COUNT_OF(functions); ++k) {
    assert_shape(apply1(functions[k], make_ramp(HTONE_F32, 2, 0, 3)), 0, 3);
    assert_shape(apply1(functions[k], turned), 3, 2);
  }
  assert_shape(leaky_relu(make_ramp(HTONE_F32, 2, 3, 0), 1), 3, 0);
  assert_values(elu(turned, 1), 0, 0, 3, 1, 4, 2, 5);
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
  assert_fails(htone_elu(make_ramp(HTONE_F32, 1, 2), NAN, &out), HTONE_ERROR_INVALID_ARGUMENT, "alpha=nan is not finite");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_are_rounded_down_up_and_to_even),
      cmocka_unit_test(integers_are_whole_already),
      cmocka_unit_test(gradients_of_steps_are_zero),
      cmocka_unit_test(functions_keep_their_digits_near_zero),
      cmocka_unit_test(gradients_are_the_derivatives),
      cmocka_unit_test(activations_take_their_number),
      cmocka_unit_test(strided_and_empty_inputs_are_taken),
      cmocka_unit_test(autocast_widens_what_pytorch_widens),
      cmocka_unit_test(other_dtypes_and_numbers_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
