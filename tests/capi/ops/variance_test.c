/* Variances and standard deviations: values, corrections, inputs without a variance, gradients at the limits. */
#include <math.h>

#include "halftone/reduce.h"
#include "test_tensors.h"

typedef htone_status (*VarianceFn)(htone_tensor*, int32_t, const int64_t*, double, int32_t, htone_tensor**);

static htone_tensor* over(VarianceFn function, htone_tensor* input, int64_t dim, double correction, int keepdim) {
  htone_tensor* out = NULL;
  assert_ok(function(input, 1, &dim, correction, keepdim, &out));
  return keep_tensor(out);
}

static htone_tensor* of_all(VarianceFn function, htone_tensor* input, double correction) {
  htone_tensor* out = NULL;
  assert_ok(function(input, 0, NULL, correction, 0, &out));
  return keep_tensor(out);
}

static void squared_distances_to_the_mean_are_averaged(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* input = make_tensor(dtypes[i], (const double[]){2, 4, 4, 4, 5, 5, 7, 9}, 2, 2, 4);
    assert_int_equal(dtype_of(of_all(htone_var, input, 0)), dtypes[i]);
    assert_scalar(of_all(htone_var, input, 0));
    assert_values(of_all(htone_var, input, 0), 0, 4);
    assert_values(of_all(htone_std, input, 0), 0, 2);
    assert_values(over(htone_var, input, 1, 0, 0), 0, 0.75, 2.75);
    assert_values(over(htone_var, input, -1, 1, 0), 0.01, 1, 11.0 / 3);
    assert_values(over(htone_std, input, 0, 0, 0), 0, 1.5, 0.5, 1.5, 2.5);
    assert_values(over(htone_std, transpose_of(input, 0, 1), 1, 0, 0), 0, 1.5, 0.5, 1.5, 2.5);
    assert_shape(over(htone_std, input, 0, 0, 1), 1, 4);
  }
}

static void a_correction_lessens_the_count(void** state) {
  (void)state;
  /* the squared deviations add up to 14 */
  htone_tensor* input = make_tensor(HTONE_F64, (const double[]){1, 2, 3, 6}, 1, 4);
  assert_values(of_all(htone_var, input, 0), 0, 14.0 / 4);
  assert_values(of_all(htone_var, input, 1), 0, 14.0 / 3);
  assert_values(of_all(htone_var, input, 1.5), 0, 14.0 / 2.5);
  assert_values(of_all(htone_var, input, -4), 0, 14.0 / 8);
  assert_values(of_all(htone_std, input, 3), 0, sqrt(14));
}

static void too_few_elements_have_no_variance(void** state) {
  (void)state;
  static const VarianceFn functions[] = {htone_var, htone_std};
  htone_tensor* two = make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2);
  for (int i = 0; i < 2; ++i) {
    assert_values(of_all(functions[i], make_scalar(HTONE_F32, 3), 1), 0, NAN);
    assert_values(of_all(functions[i], make_scalar(HTONE_F32, 3), 0), 0, 0);
    assert_values(of_all(functions[i], make_ramp(HTONE_F32, 2, 0, 3), 0), 0, NAN);
    assert_values(over(functions[i], make_ramp(HTONE_F32, 2, 2, 0), 1, 0, 0), 0, NAN, NAN);
    assert_shape(over(functions[i], make_ramp(HTONE_F32, 2, 2, 0), 0, 1, 0), 0);
    assert_values(of_all(functions[i], two, 2), 0, INFINITY);
    assert_values(of_all(functions[i], two, 5), 0, INFINITY);
  }
}

static void the_gradient_points_away_from_the_mean(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){1, 2, 3, 6}, 1, 4));
  backward(of_all(htone_var, input, 1));
  assert_values(grad_of(input), 1e-6, -4.0 / 3, -2.0 / 3, 0, 2);
  /* the mean is not an FP32 number */
  htone_tensor* far = leaf(make_tensor(HTONE_F32, (const double[]){1e6, 1e6 + 1}, 1, 2));
  backward(of_all(htone_var, far, 1));
  assert_values(grad_of(far), 0, -1, 1);
}

static void equal_elements_have_no_deviation_and_no_gradient(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){0.1, 0.1, 0.1, 1, 2, 3}, 2, 2, 3));
  htone_tensor* deviations = over(htone_std, input, 1, 1, 0);
  assert_values(deviations, 0, 0, 1);
  backward(sum_of(deviations));
  assert_values(grad_of(input), 1e-7, 0, 0, 0, -0.5, 0, 0.5);
}

static void the_gradient_of_one_element_is_nan(void** state) {
  (void)state;
  static const VarianceFn functions[] = {htone_var, htone_std};
  for (int i = 0; i < 2; ++i) {
    htone_tensor* input = leaf(make_scalar(HTONE_F32, 3));
    backward(of_all(functions[i], input, 1));
    assert_values(grad_of(input), 0, NAN);
  }
}

static void variances_are_f32_under_autocast(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor* input = leaf(make_tensor(HTONE_BF16, (const double[]){1, 1.0078125}, 1, 2));
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  htone_tensor* result = of_all(htone_var, input, 1);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(result), HTONE_F32);
  assert_values(result, 0, 0x1p-15);
  backward(result);
  assert_int_equal(dtype_of(grad_of(input)), HTONE_BF16);
  assert_values(grad_of(input), 0, -0x1p-7, 0x1p-7);
}

static void what_has_no_variance_is_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *input = make_ramp(HTONE_F32, 2, 2, 2);
  assert_fails(htone_var(make_ramp(HTONE_I64, 1, 2), 0, NULL, 1, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is i64");
  assert_fails(htone_std(cast_of(input, HTONE_F8E5M2), 0, NULL, 1, 0, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "input is f8e5m2");
  assert_fails(htone_var(input, 0, NULL, NAN, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "correction");
  assert_fails(htone_std(input, 2, (const int64_t[]){0, -2}, 1, 0, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "dims names dimension 0 twice");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(squared_distances_to_the_mean_are_averaged),
      cmocka_unit_test(a_correction_lessens_the_count),
      cmocka_unit_test(too_few_elements_have_no_variance),
      cmocka_unit_test(the_gradient_points_away_from_the_mean),
      cmocka_unit_test(equal_elements_have_no_deviation_and_no_gradient),
      cmocka_unit_test(the_gradient_of_one_element_is_nan),
      cmocka_unit_test(variances_are_f32_under_autocast),
      cmocka_unit_test(what_has_no_variance_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
