/* Norms of vectors; variance and mean together: one value and gradient each, refusals. */
#include <math.h>

#include "test_tensors.h"

static htone_tensor* norm(htone_tensor* input, double p, int32_t dim_count, const int64_t* dims, int32_t keepdim) {
  htone_tensor* out = NULL;
  assert_ok(htone_vector_norm(input, p, dim_count, dims, keepdim, &out));
  return keep_tensor(out);
}

static void norms_reduce_dimensions_and_keep_them(void** state) {
  (void)state;
  const int64_t last[] = {-1};
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){3, -4, 0, 2}, 2, 2, 2));
  htone_tensor* result = norm(x, 2, 1, last, 1);
  assert_shape(result, 2, 1);
  assert_values(result, 0, 5, 2);
  backward(sum_of(result));
  assert_values(grad_of(x), 1e-6, 0.6, -0.8, 0, 1);
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

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(norms_reduce_dimensions_and_keep_them),
      cmocka_unit_test(norms_that_need_an_element_are_refused_without),
      cmocka_unit_test(variance_and_mean_come_together),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
