/* Norms of vectors; variance and mean together: values, gradients at corners, refusals. */
#include <math.h>

#include "test_tensors.h"

static htone_tensor* norm(htone_tensor* input, double p, int32_t dim_count, const int64_t* dims, int32_t keepdim) {
  htone_tensor* out = NULL;
  assert_ok(htone_vector_norm(input, p, dim_count, dims, keepdim, &out));
  return keep_tensor(out);
}

static void assert_gradient(double p, double first, double second, double third) {
  htone_tensor* x = leaf(make_tensor(HTONE_F64, (const double[]){3, 0, -4}, 1, 3));
  backward(norm(x, p, 0, NULL, 0));
  assert_values(grad_of(x), 1e-14, first, second, third);
}

static void norms_are_those_of_their_power(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* x = make_tensor(dtypes[i], (const double[]){3, 0, -4}, 1, 3);
    assert_int_equal(dtype_of(norm(x, 2, 0, NULL, 0)), dtypes[i]);
    assert_values(norm(x, 2, 0, NULL, 0), 0, 5);
    assert_values(norm(x, 1, 0, NULL, 0), 0, 7);
    assert_values(norm(x, 0, 0, NULL, 0), 0, 2);
    assert_values(norm(x, INFINITY, 0, NULL, 0), 0, 4);
    assert_values(norm(x, -INFINITY, 0, NULL, 0), 0, 0);
    assert_values(norm(x, 3, 0, NULL, 0), 0x1p-6, cbrt(91));
    assert_values(norm(x, 0.5, 0, NULL, 0), 0x1p-4, pow(sqrt(3) + 2, 2));
    assert_values(norm(x, -1, 0, NULL, 0), 0, 0);
  }
}

static void dimensions_are_reduced_and_kept(void** state) {
  (void)state;
  const int64_t first[] = {0}, last[] = {-1};
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){3, 1, 4, -1}, 2, 2, 2);
  assert_values(norm(x, 2, 1, first, 0), 1e-6, 5, sqrt(2));
  assert_shape(norm(x, 1, 1, last, 1), 2, 1);
  assert_values(norm(x, 1, 1, last, 1), 0, 4, 5);
  assert_shape(norm(x, INFINITY, 1, last, 1), 2, 1);
  assert_values(norm(transpose_of(x, 0, 1), 1, 1, last, 0), 0, 7, 2);
  assert_values(norm(make_ramp(HTONE_F32, 2, 2, 0), 2, 1, last, 0), 0, 0, 0);
  assert_values(norm(make_scalar(HTONE_F32, -3), 2, 0, NULL, 0), 0, 3);
}

/* In f32 the squares would overflow and underflow. */
static void squares_are_formed_in_double(void** state) {
  (void)state;
  assert_values(norm(make_tensor(HTONE_F32, (const double[]){3e30, 4e30}, 1, 2), 2, 0, NULL, 0), 1e24, 5e30);
  assert_values(norm(make_tensor(HTONE_F32, (const double[]){3e-30, 4e-30}, 1, 2), 2, 0, NULL, 0), 1e-36, 5e-30);
  assert_values(norm(make_tensor(HTONE_F16, (const double[]){300, 400}, 1, 2), 2, 0, NULL, 0), 0, 500);
  assert_values(norm(make_tensor(HTONE_F32, (const double[]){NAN, 1}, 1, 2), 2, 0, NULL, 0), 0, NAN);
  assert_values(norm(make_tensor(HTONE_F32, (const double[]){-INFINITY, 1}, 1, 2), 2, 0, NULL, 0), 0, INFINITY);
}

static void gradients_at_zeros_are_zero(void** state) {
  (void)state;
  assert_gradient(2, 0.6, 0, -0.8);
  assert_gradient(1, 1, 0, -1);
  assert_gradient(0, 0, 0, 0);
  assert_gradient(INFINITY, 0, 0, -1);
  assert_gradient(3, 9 / pow(cbrt(91), 2), 0, -16 / pow(cbrt(91), 2));
  assert_gradient(0.5, (sqrt(3) + 2) / sqrt(3), 0, -(sqrt(3) + 2) / 2);
  static const double powers[] = {0, 0.5, 1, 1.5, 2, 3, INFINITY};
  for (size_t i = 0; i < COUNT_OF(powers); ++i) {
    htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){0, 0}, 1, 2));
    backward(norm(x, powers[i], 0, NULL, 0));
    assert_values(grad_of(x), 0, 0, 0);
  }
  htone_tensor* ties = leaf(make_tensor(HTONE_BF16, (const double[]){2, -2, 1}, 1, 3));
  backward(norm(ties, INFINITY, 0, NULL, 0));
  assert_int_equal(dtype_of(grad_of(ties)), HTONE_BF16);
  assert_values(grad_of(ties), 0, 0.5, -0.5, 0);
}

static void norms_that_need_an_element_are_refused_without(void** state) {
  (void)state;
  htone_tensor *nothing = make_ramp(HTONE_F32, 1, 0), *out = NULL;
  assert_fails(htone_vector_norm(nothing, INFINITY, 0, NULL, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_vector_norm(nothing, -1, 0, NULL, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "p=-1");
  assert_fails(htone_vector_norm(nothing, NAN, 0, NULL, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "p is NaN");
  assert_fails(htone_vector_norm(make_ramp(HTONE_I32, 1, 2), 2, 0, NULL, 0, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "input is i32");
  assert_null(out);
}

static void variance_and_mean_come_together(void** state) {
  (void)state;
  const int64_t last[] = {-1};
  htone_tensor *variance = NULL, *mean = NULL;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 4, 4}, 2, 2, 3));
  assert_ok(htone_var_mean(x, 1, last, 1, 1, &variance, &mean));
  assert_shape(keep_tensor(variance), 2, 1);
  assert_values(variance, 0, 1, 0);
  assert_shape(keep_tensor(mean), 2, 1);
  assert_values(mean, 0, 2, 4);
  backward(sum_of(mean));
  assert_values(grad_of(x), 1e-7, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3);
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(variance));
  assert_values(grad_of(x), 1e-7, -1, 0, 1, 0, 0, 0);
}

static void a_result_uses_both(void** state) {
  (void)state;
  htone_tensor *variance = NULL, *mean = NULL;
  htone_tensor* x = leaf(make_tensor(HTONE_BF16, (const double[]){1, 3}, 1, 2));
  assert_ok(htone_var_mean(x, 0, NULL, 0, 0, &variance, &mean));
  assert_int_equal(dtype_of(keep_tensor(variance)), HTONE_BF16);
  assert_int_equal(dtype_of(keep_tensor(mean)), HTONE_BF16);
  backward(apply2(htone_mul, variance, mean)); /* variance 1, mean 2 */
  assert_values(grad_of(x), 0, -2 + 0.5, 2 + 0.5);
  assert_ok(htone_var_mean(make_ramp(HTONE_F32, 1, 0), 0, NULL, 0, 0, &variance, &mean));
  assert_values(keep_tensor(variance), 0, NAN);
  assert_values(keep_tensor(mean), 0, NAN);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(norms_are_those_of_their_power),
      cmocka_unit_test(dimensions_are_reduced_and_kept),
      cmocka_unit_test(squares_are_formed_in_double),
      cmocka_unit_test(gradients_at_zeros_are_zero),
      cmocka_unit_test(norms_that_need_an_element_are_refused_without),
      cmocka_unit_test(variance_and_mean_come_together),
      cmocka_unit_test(a_result_uses_both),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
