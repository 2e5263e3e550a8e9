/* Elementwise operations: values, promotion as in torch, broadcasting, empty tensors, refusals. */
#include <math.h>
#include <string.h>

#include "test_tensors.h"

static void arithmetic_has_the_expected_values(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F32, (const double[]){1, -2, 0.5}, 1, 3);
  htone_tensor* b = make_tensor(HTONE_F32, (const double[]){4, 0.25, -8}, 1, 3);
  assert_values(apply2(htone_add, a, b), 0, 5, -1.75, -7.5);
  assert_values(apply2(htone_sub, a, b), 0, -3, -2.25, 8.5);
  assert_values(apply2(htone_mul, a, b), 0, 4, -0.5, -4);
  assert_values(apply2(htone_div, a, b), 0, 0.25, -8, -0.0625);
}

static void a_16_bit_result_is_rounded_once_to_nearest_even(void** state) {
  (void)state;
  htone_tensor* one = make_tensor(HTONE_BF16, (const double[]){1, 1}, 1, 2);
  htone_tensor* small = make_tensor(HTONE_BF16, (const double[]){1.0 / 256, 3.0 / 256}, 1, 2);
  assert_values(apply2(htone_add, one, small), 0, 1, 1 + 1.0 / 64);
  htone_tensor* half = make_tensor(HTONE_F16, (const double[]){2048, 60000}, 1, 2);
  assert_values(apply2(htone_add, half, make_tensor(HTONE_F16, (const double[]){1, 60000}, 1, 2)), 0, 2048, INFINITY);
}

static void division_by_zero_is_infinite_or_nan(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F32, (const double[]){1, -1, 0}, 1, 3);
  assert_values(apply2(htone_div, a, make_scalar(HTONE_F32, 0)), 0, INFINITY, -INFINITY, NAN);
  htone_tensor* integers = apply2(htone_div, make_scalar(HTONE_I32, 3), make_scalar(HTONE_I32, 0));
  assert_int_equal(dtype_of(integers), HTONE_F32);
  assert_values(integers, 0, INFINITY);
}

static void integers_wrap(void** state) {
  (void)state;
  htone_tensor* bytes = make_tensor(HTONE_U8, (const double[]){255, 16, 0}, 1, 3);
  assert_values(apply2(htone_mul, bytes, bytes), 0, 1, 0, 0);
  assert_values(apply2(htone_sub, make_tensor(HTONE_U8, (const double[]){0}, 1, 1), make_scalar(HTONE_U8, 1)), 0, 255);
  htone_tensor* small = make_tensor(HTONE_I8, (const double[]){127, -128}, 1, 2);
  assert_values(apply2(htone_add, small, make_tensor(HTONE_I8, (const double[]){1, -1}, 1, 2)), 0, -128, 127);
  htone_tensor* wide = make_scalar(HTONE_I64, 0);
  const int64_t largest = INT64_MAX;
  int64_t sum = 0;
  assert_ok(htone_tensor_write(wide, HTONE_I64, &largest, sizeof largest));
  assert_ok(htone_tensor_read(apply2(htone_add, wide, make_scalar(HTONE_I64, 1)), HTONE_I64, &sum, sizeof sum));
  assert_true(sum == INT64_MIN);
}

static void bools_add_to_or_multiply_to_and_and_do_not_subtract(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_BOOL, (const double[]){0, 0, 1, 1}, 1, 4);
  htone_tensor* b = make_tensor(HTONE_BOOL, (const double[]){0, 1, 0, 1}, 1, 4);
  htone_tensor* out = NULL;
  assert_int_equal(dtype_of(apply2(htone_add, a, b)), HTONE_BOOL);
  assert_values(apply2(htone_add, a, b), 0, 0, 1, 1, 1);
  assert_values(apply2(htone_mul, a, b), 0, 0, 0, 0, 1);
  assert_int_equal(dtype_of(apply2(htone_div, a, b)), HTONE_F32);
  assert_values(apply2(htone_div, a, b), 0, NAN, 0, INFINITY, 1);
  assert_fails(htone_sub(a, b, &out), HTONE_ERROR_DTYPE_MISMATCH, "bool");
  assert_null(out);
}

typedef struct Promotion {
  htone_dtype a;
  int a_ndim;
  htone_dtype b;
  int b_ndim;
  htone_dtype sum, quotient;
} Promotion;

/* The rules of torch: tensors with dimensions win over a scalar tensor of the same kind (bool < integer < float); a
 * scalar of a higher kind promotes; true division of integers returns the default float. */
static void operands_promote_as_in_torch(void** state) {
  (void)state;
  static const Promotion cases[] = {
      {HTONE_F16, 1, HTONE_BF16, 1, HTONE_F32, HTONE_F32},    {HTONE_F32, 1, HTONE_F64, 1, HTONE_F64, HTONE_F64},
      {HTONE_BF16, 1, HTONE_I64, 1, HTONE_BF16, HTONE_BF16},  {HTONE_U8, 1, HTONE_I8, 1, HTONE_I16, HTONE_F32},
      {HTONE_BOOL, 1, HTONE_U8, 1, HTONE_U8, HTONE_F32},      {HTONE_I32, 1, HTONE_I64, 1, HTONE_I64, HTONE_F32},
      {HTONE_F32, 1, HTONE_F64, 0, HTONE_F32, HTONE_F32},     {HTONE_F64, 0, HTONE_F16, 1, HTONE_F16, HTONE_F16},
      {HTONE_BF16, 1, HTONE_F16, 0, HTONE_BF16, HTONE_BF16},  {HTONE_I32, 1, HTONE_I64, 0, HTONE_I32, HTONE_F32},
      {HTONE_U8, 1, HTONE_I8, 0, HTONE_U8, HTONE_F32},        {HTONE_I64, 1, HTONE_F16, 0, HTONE_F16, HTONE_F16},
      {HTONE_I32, 1, HTONE_F64, 0, HTONE_F64, HTONE_F64},     {HTONE_BOOL, 1, HTONE_I64, 0, HTONE_I64, HTONE_F32},
      {HTONE_BOOL, 1, HTONE_BF16, 0, HTONE_BF16, HTONE_BF16}, {HTONE_F16, 1, HTONE_I64, 0, HTONE_F16, HTONE_F16},
      {HTONE_F16, 0, HTONE_F32, 0, HTONE_F32, HTONE_F32},     {HTONE_I8, 0, HTONE_U8, 0, HTONE_I16, HTONE_F32},
      {HTONE_F16, 0, HTONE_I64, 1, HTONE_F16, HTONE_F16},     {HTONE_BOOL, 0, HTONE_I8, 1, HTONE_I8, HTONE_F32},
  };
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    htone_tensor* a = make_tensor(cases[i].a, (const double[]){1, 1}, cases[i].a_ndim, 2);
    htone_tensor* b = make_tensor(cases[i].b, (const double[]){1, 1}, cases[i].b_ndim, 2);
    const htone_dtype sum = dtype_of(apply2(htone_add, a, b));
    const htone_dtype quotient = dtype_of(apply2(htone_div, a, b));
    if (sum != cases[i].sum || quotient != cases[i].quotient) print_error("case %zu\n", i);
    assert_int_equal(sum, cases[i].sum);
    assert_int_equal(dtype_of(apply2(htone_mul, b, a)), cases[i].sum);
    assert_int_equal(quotient, cases[i].quotient);
  }
}

static void operands_broadcast_as_in_numpy(void** state) {
  (void)state;
  htone_tensor* column = make_ramp(HTONE_F32, 2, 2, 1);
  htone_tensor* row = make_tensor(HTONE_F32, (const double[]){10, 20, 30}, 1, 3);
  htone_tensor* sum = apply2(htone_add, column, row);
  assert_shape(sum, 2, 3);
  assert_values(sum, 0, 10, 20, 30, 11, 21, 31);
  assert_values(apply2(htone_sub, make_scalar(HTONE_F32, 1), row), 0, -9, -19, -29);
  assert_shape(apply2(htone_mul, make_ramp(HTONE_F32, 4, 2, 1, 3, 1), make_ramp(HTONE_F32, 3, 4, 1, 5)), 2, 4, 3, 5);
}

static void strided_operands_are_read_where_they_lie(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 3, 4);
  htone_tensor* turned = transpose_of(slice_of(base, 1, 0, 4, 3), 0, 1); /* [2, 3]: 0 4 8, 3 7 11 */
  assert_values(apply2(htone_add, turned, turned), 0, 0, 8, 16, 6, 14, 22);
  assert_values(apply2(htone_sub, turned, make_ramp(HTONE_F32, 2, 2, 3)), 0, 0, 3, 6, 0, 3, 6);
}

/* A9 */
static void empty_operands_give_an_empty_result(void** state) {
  (void)state;
  htone_tensor* empty = make_ramp(HTONE_F32, 2, 0, 3);
  assert_shape(apply2(htone_add, empty, make_ramp(HTONE_F32, 1, 3)), 0, 3);
  assert_shape(apply2(htone_mul, empty, make_ramp(HTONE_F32, 2, 1, 1)), 0, 3);
  assert_shape(apply2(htone_div, empty, make_scalar(HTONE_F32, 1)), 0, 3);
  assert_shape(apply1(htone_relu, empty), 0, 3);
}

/* A10 */
static void shapes_that_do_not_broadcast_are_both_named(void** state) {
  (void)state;
  htone_tensor* a = make_ramp(HTONE_F32, 2, 2, 3);
  htone_tensor* b = make_ramp(HTONE_F32, 1, 4);
  static const BinaryFn functions[] = {htone_add, htone_sub, htone_mul, htone_div};
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    htone_tensor* out = NULL;
    assert_fails(functions[i](a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "[2, 3]");
    assert_fails(functions[i](a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "[4]");
    assert_fails(functions[i](make_ramp(HTONE_F32, 2, 0, 3), make_ramp(HTONE_F32, 2, 2, 3), &out),
                 HTONE_ERROR_SHAPE_MISMATCH, "[0, 3]");
    assert_null(out);
  }
}

static void large_and_odd_sizes_add_right(void** state) {
  (void)state;
  static const int sizes[] = {1, 15, 17, 63, 65, 1000, 65537, 300001};
  for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
    htone_tensor* ramp = make_ramp(HTONE_F64, 1, sizes[i]);
    const double n = sizes[i];
    assert_near(item_of(sum_of(apply2(htone_add, ramp, ramp))), n * (n - 1), 0);
  }
}

static void relu_keeps_nan(void** state) {
  (void)state;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){-1, 0, 2, NAN, -INFINITY, INFINITY}, 1, 6);
  assert_values(apply1(htone_relu, input), 0, 0, 0, 2, NAN, 0, INFINITY);
}

static void gelu_has_both_forms(void** state) {
  (void)state;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){-1, 0, 1, 3, -10, 10}, 1, 6);
  htone_tensor *erf_form = NULL, *tanh_form = NULL;
  assert_ok(htone_gelu(input, HTONE_GELU_ERF, &erf_form));
  keep_tensor(erf_form);
  assert_values(erf_form, 1e-6, -0.15865525393145707, 0, 0.8413447460685429, 2.9959502906, 0, 10);
  assert_ok(htone_gelu(input, HTONE_GELU_TANH, &tanh_form));
  keep_tensor(tanh_form);
  assert_values(tanh_form, 1e-6, -0.15880800939172324, 0, 0.8411919906082768, 2.9963626429, 0, 10);
}

static void float_operations_refuse_integers(void** state) {
  (void)state;
  htone_tensor* integers = make_ramp(HTONE_I32, 2, 2, 2);
  htone_tensor* out = NULL;
  assert_fails(htone_relu(integers, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_fails(htone_gelu(integers, HTONE_GELU_ERF, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_fails(htone_softmax(integers, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_fails(htone_log_softmax(integers, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_fails(htone_mean(integers, 0, NULL, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_null(out);
}

static void rescaling_turns_bytes_into_floats(void** state) {
  (void)state;
  htone_tensor* bytes = make_tensor(HTONE_U8, (const double[]){0, 51, 255}, 1, 3);
  htone_tensor* out = NULL;
  assert_ok(htone_rescale(bytes, 1.0 / 255, -0.5, &out));
  keep_tensor(out);
  assert_int_equal(dtype_of(out), HTONE_F32);
  assert_values(out, 1e-7, -0.5, -0.3, 0.5);
  assert_ok(htone_rescale(make_tensor(HTONE_F64, (const double[]){0.1}, 1, 1), 3, 1, &out));
  keep_tensor(out);
  assert_int_equal(dtype_of(out), HTONE_F64);
  assert_values(out, 1e-15, 1.3);
  assert_ok(htone_rescale(make_tensor(HTONE_BF16, (const double[]){2}, 1, 1), 0.5, 1, &out));
  keep_tensor(out);
  assert_int_equal(dtype_of(out), HTONE_BF16);
  assert_values(out, 0, 2);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic_has_the_expected_values),
      cmocka_unit_test(a_16_bit_result_is_rounded_once_to_nearest_even),
      cmocka_unit_test(division_by_zero_is_infinite_or_nan),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(bools_add_to_or_multiply_to_and_and_do_not_subtract),
      cmocka_unit_test(operands_promote_as_in_torch),
      cmocka_unit_test(operands_broadcast_as_in_numpy),
      cmocka_unit_test(strided_operands_are_read_where_they_lie),
      cmocka_unit_test(empty_operands_give_an_empty_result),
      cmocka_unit_test(shapes_that_do_not_broadcast_are_both_named),
      cmocka_unit_test(large_and_odd_sizes_add_right),
      cmocka_unit_test(relu_keeps_nan),
      cmocka_unit_test(gelu_has_both_forms),
      cmocka_unit_test(float_operations_refuse_integers),
      cmocka_unit_test(rescaling_turns_bytes_into_floats),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
