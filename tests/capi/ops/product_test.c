/* Products and running products: values, dtypes, and gradients beside zeros. */
#include <math.h>

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
  const int64_t first[] = {0}, last[] = {-1}, outer[] = {0, 2};
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6}, 2, 2, 3);
  assert_scalar(prod(x, 0, NULL, 0));
  assert_values(prod(x, 0, NULL, 0), 0, 720);
  assert_values(prod(x, 1, first, 0), 0, 4, 10, 18);
  assert_shape(prod(x, 1, last, 1), 2, 1);
  assert_values(prod(x, 1, last, 1), 0, 6, 120);
  assert_values(prod(transpose_of(x, 0, 1), 1, first, 0), 0, 6, 120);
  assert_values(prod(make_tensor(HTONE_F64, (const double[]){1, 2, 3, 4, 5, 6, 7, 8}, 3, 2, 2, 2), 2, outer, 0), 0,
                1 * 2 * 5 * 6, 3 * 4 * 7 * 8);
  assert_values(prod(make_ramp(HTONE_F32, 2, 0, 2), 1, first, 0), 0, 1, 1);
  assert_values(prod(make_scalar(HTONE_F32, 3), 0, NULL, 0), 0, 3);
}

static void running_products_run_along_a_dimension(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6}, 2, 2, 3);
  assert_values(cumprod(x, 1), 0, 1, 2, 6, 4, 20, 120);
  assert_values(cumprod(x, -2), 0, 1, 2, 3, 4, 10, 18);
  assert_values(cumprod(make_scalar(HTONE_F32, 3), 0), 0, 3);
  assert_shape(cumprod(make_ramp(HTONE_F32, 2, 2, 0), 1), 2, 0);
  assert_values(cumprod(make_tensor(HTONE_F32, (const double[]){2, NAN, 0}, 1, 3), 0), 0, 2, NAN, NAN);
}

/* In f32 the running product would overflow on the way. */
static void products_are_formed_in_double(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){1e30, 1e30, 1e-30, 1e-30}, 1, 4);
  assert_values(prod(x, 0, NULL, 0), 1e-6, 1);
  htone_tensor* half = make_tensor(HTONE_F16, (const double[]){300, 300, 0.0078125}, 1, 3);
  assert_int_equal(dtype_of(prod(half, 0, NULL, 0)), HTONE_F16);
  assert_near(item_of(prod(half, 0, NULL, 0)), 703, 0.5);
  assert_values(slice_of(cumprod(half, 0), 0, 1, 2, 1), 0, INFINITY);
}

static void integers_are_multiplied_in_64_bits(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8, HTONE_U8};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* x = make_tensor(dtypes[i], (const double[]){100, 100, 100, 3}, 1, 4);
    assert_int_equal(dtype_of(prod(x, 0, NULL, 0)), HTONE_I64);
    assert_values(prod(x, 0, NULL, 0), 0, 3000000);
    assert_int_equal(dtype_of(cumprod(x, 0)), HTONE_I64);
    assert_values(cumprod(x, 0), 0, 100, 10000, 1000000, 3000000);
  }
  htone_tensor* bools = make_tensor(HTONE_BOOL, (const double[]){1, 0}, 1, 2);
  assert_values(prod(bools, 0, NULL, 0), 0, 0);
  assert_values(cumprod(bools, 0), 0, 1, 0);
}

static void gradients_beside_zeros_are_the_other_factors(void** state) {
  (void)state;
  const int64_t last[] = {1};
  const double rows[] = {2, 3, 4, 2, 0, 4, 0, 3, 0};
  htone_tensor* x = leaf(make_tensor(HTONE_F32, rows, 2, 3, 3));
  backward(sum_of(prod(x, 1, last, 0)));
  assert_values(grad_of(x), 0, 12, 8, 6, 0, 8, 0, 0, 0, 0);
  htone_tensor* turned = leaf(transpose_of(make_tensor(HTONE_F64, rows, 2, 3, 3), 0, 1));
  const int64_t first[] = {0};
  backward(sum_of(prod(turned, 1, first, 1)));
  assert_values(grad_of(turned), 0, 12, 0, 0, 8, 8, 0, 6, 0, 0);
  htone_tensor* all = leaf(make_tensor(HTONE_BF16, (const double[]){2, 0, 5}, 1, 3));
  backward(prod(all, 0, NULL, 0));
  assert_int_equal(dtype_of(grad_of(all)), HTONE_BF16);
  assert_values(grad_of(all), 0, 0, 10, 0);
  htone_tensor* one = leaf(make_scalar(HTONE_F32, 3));
  backward(prod(one, 0, NULL, 0));
  assert_values(grad_of(one), 0, 1);
  htone_tensor* nothing = leaf(make_ramp(HTONE_F32, 2, 2, 0));
  backward(sum_of(prod(nothing, 1, last, 0)));
  assert_shape(grad_of(nothing), 2, 0);
}

static void gradients_of_running_products_count_all_later_ones(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){2, 0, 5}, 1, 3));
  backward(sum_of(cumprod(x, 0)));
  assert_values(grad_of(x), 0, 1 + 0 + 0, 2 + 2 * 5, 0);
  htone_tensor* column = leaf(make_tensor(HTONE_F64, (const double[]){2, 1, 3, 1, 4, 1}, 2, 3, 2));
  backward(sum_of(cumprod(column, 0)));
  assert_values(grad_of(column), 0, 1 + 3 + 12, 3, 2 + 8, 2, 6, 1);
}

static void dimensions_and_dtypes_are_checked(void** state) {
  (void)state;
  const int64_t outside[] = {1}, twice[] = {0, -1};
  htone_tensor *x = make_ramp(HTONE_F32, 1, 2), *out = NULL;
  assert_fails(htone_prod(x, 1, outside, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_prod(x, 2, twice, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_prod(make_ramp(HTONE_F8E4M3, 1, 2), 0, NULL, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is f8e4m3");
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
      cmocka_unit_test(products_are_formed_in_double),
      cmocka_unit_test(integers_are_multiplied_in_64_bits),
      cmocka_unit_test(gradients_beside_zeros_are_the_other_factors),
      cmocka_unit_test(gradients_of_running_products_count_all_later_ones),
      cmocka_unit_test(dimensions_and_dtypes_are_checked),
      cmocka_unit_test(products_of_nothing_with_a_huge_size_end_at_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
