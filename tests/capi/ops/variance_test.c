/* Variances and standard deviations: one value and gradient, autocast, refusals. */
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
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){2, 4, 4, 4, 5, 5, 7, 9}, 2, 2, 4);
  assert_scalar(of_all(htone_var, input, 0));
  assert_values(of_all(htone_var, input, 0), 0, 4);
  assert_values(of_all(htone_std, input, 0), 0, 2);
  assert_values(over(htone_var, input, -1, 1, 0), 1e-6, 1, 11.0 / 3);
  assert_shape(over(htone_std, input, 0, 0, 1), 1, 4);
}

static void the_gradient_points_away_from_the_mean(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){1, 2, 3, 6}, 1, 4));
  backward(of_all(htone_var, input, 1));
  assert_values(grad_of(input), 1e-6, -4.0 / 3, -2.0 / 3, 0, 2);
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
      cmocka_unit_test(the_gradient_points_away_from_the_mean),
      cmocka_unit_test(variances_are_f32_under_autocast),
      cmocka_unit_test(what_has_no_variance_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
