/* Products and running products: one value and gradient each, refusals, huge empty sizes. */

#include "test_tensors.h"

static htone_tensor* prod(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim) {
  htone_tensor* out = NULL;
  assert_ok(htone_prod(input, dim_count, dims, keepdim, &out));
  return keep_tensor(out);
}

static htone_tensor* cumprod(htone_tensor* input, int64_t dim) {
  htone_tensor* out = NULL;
  assert_ok(htone_cumprod(input, dim, &out));
  return keep_tensor(out);
}

static void products_run_over_the_dimensions(void** state) {
  (void)state;
  const int64_t last[] = {-1};
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 0, 6}, 2, 2, 3));
  assert_scalar(prod(x, 0, NULL, 0));
  htone_tensor* result = prod(x, 1, last, 1);
  assert_shape(result, 2, 1);
  assert_values(result, 0, 6, 0);
  backward(sum_of(result));
  assert_values(grad_of(x), 0, 6, 3, 2, 0, 24, 0);
}

static void running_products_run_along_a_dimension(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6}, 2, 2, 3));
  htone_tensor* result = cumprod(x, -2);
  assert_values(result, 0, 1, 2, 3, 4, 10, 18);
  backward(sum_of(result));
  assert_values(grad_of(x), 0, 5, 6, 7, 1, 2, 3);
}

static void dimensions_and_dtypes_are_checked(void** state) {
  (void)state;
  const int64_t outside[] = {1}, twice[] = {0, -1};
  htone_tensor *x = make_ramp(HTONE_F32, 1, 2), *out = NULL;
  assert_fails(htone_prod(x, 1, outside, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_prod(x, 2, twice, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_prod(make_ramp(HTONE_F8E4M3, 1, 2), 0, NULL, 0, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "input is f8e4m3");
  assert_fails(htone_cumprod(x, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim=1 is outside");
  assert_fails(htone_cumprod(make_ramp(HTONE_F8E4M3, 1, 2), 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is f8e4m3");
  assert_null(out);
}

static void products_of_nothing_with_a_huge_size_end_at_once(void** state) {
  (void)state;
  const int64_t shapes[][2] = {{INT64_C(1) << 40, 0}, {0, INT64_C(1) << 40}}, first[] = {0};
  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    htone_tensor* x = NULL;
    assert_ok(htone_tensor_create_ones(test_device(), HTONE_F32, 2, shapes[i], &x));
    leaf(keep_tensor(x));
    backward(sum_of(cumprod(x, 0)));
    backward(sum_of(cumprod(x, 1)));
    if (i == 0) backward(sum_of(prod(x, 1, first, 0)));
    backward(prod(x, 0, NULL, 0));
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_run_over_the_dimensions),
      cmocka_unit_test(running_products_run_along_a_dimension),
      cmocka_unit_test(dimensions_and_dtypes_are_checked),
      cmocka_unit_test(products_of_nothing_with_a_huge_size_end_at_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
