/* Operations of a tensor and a number: one value each, whole numbers of integers, comparisons. */
#include <math.h>

#include "test_tensors.h"

typedef htone_status (*ScalarFn)(htone_tensor*, double, htone_tensor**);

static htone_tensor* apply_number(ScalarFn function, htone_tensor* input, double number) {
  htone_tensor* out = NULL;
  assert_ok(function(input, number, &out));
  return keep_tensor(out);
}

static void a_number_does_not_change_the_dtype(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_BF16, (const double[]){1, 2, -4}, 1, 3));
  assert_values(apply_number(htone_add_scalar, x, 0.5), 0, 1.5, 2.5, -3.5);
  assert_values(apply_number(htone_sub_scalar, x, 0.5), 0, 0.5, 1.5, -4.5);
  assert_values(apply_number(htone_div_scalar, x, 4), 0, 0.25, 0.5, -1);
  htone_tensor* product = apply_number(htone_mul_scalar, x, 0.5);
  assert_int_equal(dtype_of(product), HTONE_BF16);
  assert_values(product, 0, 0.5, 1, -2);
  backward(sum_of(product));
  assert_values(grad_of(x), 0, 0.5, 0.5, 0.5);
}

/* 1 + 2^-9 is no bf16: rounded to bf16 first it would be 1. */
static void a_number_is_not_rounded_to_16_bits(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_BF16, (const double[]){256}, 1, 1);
  assert_values(apply_number(htone_mul_scalar, x, 1 + 0x1.8p-8), 0, 258);
  assert_values(apply_number(htone_add_scalar, make_tensor(HTONE_F64, (const double[]){1}, 1, 1), 0x1p-50), 0,
                1 + 0x1p-50);
}

static void integers_take_whole_numbers_alone(void** state) {
  (void)state;
  htone_tensor *x = make_ramp(HTONE_I32, 1, 2), *out = NULL;
  const ScalarFn functions[] = {htone_add_scalar, htone_sub_scalar, htone_mul_scalar};
  for (size_t k = 0; k < COUNT_OF(functions); ++k) {
    assert_fails(functions[k](x, 0.5, &out), HTONE_ERROR_INVALID_ARGUMENT, "number=0.5, expected a whole number");
    assert_fails(functions[k](x, NAN, &out), HTONE_ERROR_INVALID_ARGUMENT, "number=nan");
    assert_fails(functions[k](x, INFINITY, &out), HTONE_ERROR_INVALID_ARGUMENT, "number=inf");
    assert_fails(functions[k](x, 0x1p63, &out), HTONE_ERROR_INVALID_ARGUMENT, "within 64 bits");
    assert_fails(functions[k](make_ramp(HTONE_F8E5M2, 1, 2), 1, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is f8e5m2");
  }
  assert_fails(htone_sub_scalar(make_ramp(HTONE_BOOL, 1, 2), 1, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is bool");
  assert_null(out);
}

static void integers_are_compared_exactly(void** state) {
  (void)state;
  static const ScalarFn functions[] = {htone_eq_scalar, htone_ne_scalar, htone_lt_scalar,
                                       htone_le_scalar, htone_gt_scalar, htone_ge_scalar};
  static const double expected[][2] = {{0, 1}, {1, 0}, {0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const int64_t shape[] = {2}, large[] = {(INT64_C(1) << 62) + 1, INT64_C(1) << 62};
  htone_tensor* wide = NULL;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, shape, large, &wide));
  keep_tensor(wide);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    htone_tensor* result = apply_number(functions[i], wide, 0x1p62);
    assert_int_equal(dtype_of(result), HTONE_BOOL);
    assert_values(result, 0, expected[i][0], expected[i][1]);
  }
  assert_int_equal(requires_grad(apply_number(htone_gt_scalar, leaf(make_ramp(HTONE_F32, 1, 2)), 0)), 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_number_does_not_change_the_dtype),
      cmocka_unit_test(a_number_is_not_rounded_to_16_bits),
      cmocka_unit_test(integers_take_whole_numbers_alone),
      cmocka_unit_test(integers_are_compared_exactly),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
