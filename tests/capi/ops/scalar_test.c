/* Operations of a tensor and a number: values, dtypes, gradients, whole numbers of integers, comparisons. */
#include <math.h>

#include "test_tensors.h"

typedef htone_status (*ScalarFn)(htone_tensor*, double, htone_tensor**);

static htone_tensor* apply_number(ScalarFn function, htone_tensor* input, double number) {
  htone_tensor* out = NULL;
  assert_ok(function(input, number, &out));
  return keep_tensor(out);
}

static const htone_dtype kFloats[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
static const htone_dtype kIntegers[] = {HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8, HTONE_U8};

static void a_number_does_not_change_the_dtype_of_floats(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kFloats); ++i) {
    htone_tensor* x = make_tensor(kFloats[i], (const double[]){1, 2, -4}, 1, 3);
    assert_values(apply_number(htone_add_scalar, x, 0.5), 0, 1.5, 2.5, -3.5);
    assert_values(apply_number(htone_sub_scalar, x, 0.5), 0, 0.5, 1.5, -4.5);
    assert_values(apply_number(htone_mul_scalar, x, 0.5), 0, 0.5, 1, -2);
    assert_values(apply_number(htone_div_scalar, x, 4), 0, 0.25, 0.5, -1);
    assert_int_equal(dtype_of(apply_number(htone_add_scalar, x, 0.1)), kFloats[i]);
    assert_int_equal(dtype_of(apply_number(htone_mul_scalar, make_scalar(kFloats[i], 3), 0.1)), kFloats[i]);
    assert_values(apply_number(htone_add_scalar, x, INFINITY), 0, INFINITY, INFINITY, INFINITY);
    assert_values(apply_number(htone_div_scalar, x, 0), 0, INFINITY, INFINITY, -INFINITY);
    assert_values(apply_number(htone_mul_scalar, x, NAN), 0, NAN, NAN, NAN);
  }
}

/* 1 + 2^-9 is no bf16: rounded to bf16 first it would be 1. */
static void a_number_is_not_rounded_to_16_bits(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_BF16, (const double[]){256}, 1, 1);
  assert_values(apply_number(htone_mul_scalar, x, 1 + 0x1.8p-8), 0, 258);
  assert_values(apply_number(htone_add_scalar, make_tensor(HTONE_F64, (const double[]){1}, 1, 1), 0x1p-50), 0,
                1 + 0x1p-50);
}

static void integers_keep_their_dtype(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kIntegers); ++i) {
    htone_tensor* x = make_tensor(kIntegers[i], (const double[]){4, 9}, 1, 2);
    assert_int_equal(dtype_of(apply_number(htone_add_scalar, x, 3)), kIntegers[i]);
    assert_values(apply_number(htone_add_scalar, x, 3), 0, 7, 12);
    assert_values(apply_number(htone_sub_scalar, x, 4), 0, 0, 5);
    assert_values(apply_number(htone_mul_scalar, x, 5), 0, 20, 45);
    assert_int_equal(dtype_of(apply_number(htone_div_scalar, x, 8)), HTONE_F32);
    assert_values(apply_number(htone_div_scalar, x, 8), 0, 0.5, 1.125);
  }
  assert_values(apply_number(htone_add_scalar, make_tensor(HTONE_I8, (const double[]){100}, 1, 1), 100), 0, -56);
  htone_tensor* bools = make_tensor(HTONE_BOOL, (const double[]){0, 1}, 1, 2);
  assert_int_equal(dtype_of(apply_number(htone_add_scalar, bools, 2)), HTONE_I64);
  assert_values(apply_number(htone_add_scalar, bools, 2), 0, 2, 3);
  assert_values(apply_number(htone_mul_scalar, bools, -3), 0, 0, -3);
  assert_values(apply_number(htone_div_scalar, bools, 2), 0, 0, 0.5);
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

static void gradients_are_scaled_as_the_input_was(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kFloats); ++i) {
    htone_tensor* x = leaf(make_ramp(kFloats[i], 1, 2));
    backward(sum_of(apply_number(htone_add_scalar, x, 3)));
    backward(sum_of(apply_number(htone_sub_scalar, x, 3)));
    backward(sum_of(apply_number(htone_mul_scalar, x, -4)));
    backward(sum_of(apply_number(htone_div_scalar, x, 0.5)));
    assert_int_equal(dtype_of(grad_of(x)), kFloats[i]);
    assert_values(grad_of(x), 0, 0, 0);
  }
}

static void floats_are_compared_with_the_rounded_number(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kFloats); ++i) {
    htone_tensor* x = make_tensor(kFloats[i], (const double[]){0.1, 1, NAN, -INFINITY}, 1, 4);
    assert_int_equal(dtype_of(apply_number(htone_eq_scalar, x, 0.1)), HTONE_BOOL);
    assert_values(apply_number(htone_eq_scalar, x, 0.1), 0, 1, 0, 0, 0);
    assert_values(apply_number(htone_ne_scalar, x, 0.1), 0, 0, 1, 1, 1);
    assert_values(apply_number(htone_lt_scalar, x, 0.1), 0, 0, 0, 0, 1);
    assert_values(apply_number(htone_le_scalar, x, 0.1), 0, 1, 0, 0, 1);
    assert_values(apply_number(htone_gt_scalar, x, 0.1), 0, 0, 1, 0, 0);
    assert_values(apply_number(htone_ge_scalar, x, 0.1), 0, 1, 1, 0, 0);
    assert_values(apply_number(htone_eq_scalar, make_scalar(kFloats[i], 0.1), 0.1), 0, 1);
    assert_values(apply_number(htone_ne_scalar, x, NAN), 0, 1, 1, 1, 1);
    assert_int_equal(requires_grad(apply_number(htone_gt_scalar, leaf(x), 0)), 0);
  }
}

static void integers_are_compared_exactly(void** state) {
  (void)state;
  htone_tensor* bytes = make_tensor(HTONE_U8, (const double[]){0, 44, 255}, 1, 3);
  assert_values(apply_number(htone_eq_scalar, bytes, 300), 0, 0, 0, 0); /* 300 wraps to 44 in 8 bits */
  assert_values(apply_number(htone_gt_scalar, bytes, -1), 0, 1, 1, 1);
  assert_values(apply_number(htone_ge_scalar, bytes, 43.5), 0, 0, 1, 1);
  assert_values(apply_number(htone_lt_scalar, bytes, INFINITY), 0, 1, 1, 1);
  assert_values(apply_number(htone_eq_scalar, bytes, NAN), 0, 0, 0, 0);
  const int64_t shape[] = {2}, large[] = {(INT64_C(1) << 62) + 1, INT64_C(1) << 62};
  htone_tensor* wide = NULL;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, shape, large, &wide));
  assert_values(apply_number(htone_eq_scalar, keep_tensor(wide), 0x1p62), 0, 0, 1);
  assert_values(apply_number(htone_le_scalar, make_tensor(HTONE_BOOL, (const double[]){0, 1}, 1, 2), 0), 0, 1, 0);
  assert_shape(apply_number(htone_le_scalar, make_ramp(HTONE_I8, 2, 0, 3), 0), 0, 3);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_number_does_not_change_the_dtype_of_floats),
      cmocka_unit_test(a_number_is_not_rounded_to_16_bits),
      cmocka_unit_test(integers_keep_their_dtype),
      cmocka_unit_test(integers_take_whole_numbers_alone),
      cmocka_unit_test(gradients_are_scaled_as_the_input_was),
      cmocka_unit_test(floats_are_compared_with_the_rounded_number),
      cmocka_unit_test(integers_are_compared_exactly),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
