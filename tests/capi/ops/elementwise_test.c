/* Functions of one and two tensors, and of a tensor and a number: what they refuse, and exact integers. tests/vectors
 * has their values and gradients. */
#include <math.h>

#include "test_tensors.h"

static void storage_formats_bools_and_integers_are_refused(void** state) {
  (void)state;
  static const UnaryFn functions[] = {
      htone_exp,       htone_log,   htone_sqrt, htone_rsqrt,       htone_reciprocal, htone_abs,      htone_neg,
      htone_sin,       htone_cos,   htone_tanh, htone_sigmoid,     htone_silu,       htone_softplus, htone_floor,
      htone_ceil,      htone_round, htone_erf,  htone_trunc,       htone_tan,        htone_log2,     htone_log10,
      htone_hardswish, htone_mish,  htone_selu, htone_log_sigmoid, htone_is_inf};
  htone_tensor *bytes = make_ramp(HTONE_F8E4M3, 1, 2), *bools = make_ramp(HTONE_BOOL, 1, 2);
  htone_tensor* integers = make_ramp(HTONE_I32, 1, 2);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_refuses(functions[i](bytes, &out), DTYPE_MISMATCH, "input is f8e4m3");
  }
  assert_refuses(htone_neg(bools, &out), DTYPE_MISMATCH, "bool");
  assert_refuses(htone_floor(bools, &out), DTYPE_MISMATCH, "input is bool");
  assert_refuses(htone_ceil(bools, &out), DTYPE_MISMATCH, "input is bool");
  assert_refuses(htone_round(bools, &out), DTYPE_MISMATCH, "input is bool");
  assert_refuses(htone_trunc(bools, &out), DTYPE_MISMATCH, "input is bool");
  assert_refuses(htone_glu(integers, 0, &out), DTYPE_MISMATCH, "input is i32");
  assert_refuses(htone_nan_to_num(bytes, 0, 0, 0, &out), DTYPE_MISMATCH, "input is f8e4m3");
  assert_refuses(htone_relu(integers, &out), DTYPE_MISMATCH, "i32");
  assert_refuses(htone_gelu(integers, HTONE_GELU_ERF, &out), DTYPE_MISMATCH, "i32");
  assert_refuses(htone_leaky_relu(integers, 0.1, &out), DTYPE_MISMATCH, "input is i32");
  assert_refuses(htone_elu(integers, 1, &out), DTYPE_MISMATCH, "input is i32");
  assert_refuses(htone_clamp(integers, 0, 1, &out), DTYPE_MISMATCH, "i32");
}

/* A10 */
static void shapes_that_do_not_broadcast_are_both_named(void** state) {
  (void)state;
  static const BinaryFn functions[] = {htone_add, htone_sub,  htone_mul,          htone_div,   htone_pow,
                                       htone_eq,  htone_ne,   htone_lt,           htone_le,    htone_gt,
                                       htone_ge,  htone_fmod, htone_floor_divide, htone_atan2, htone_logaddexp};
  htone_tensor *a = make_ramp(HTONE_F32, 2, 2, 3), *b = make_ramp(HTONE_F32, 1, 4);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_refuses(functions[i](a, b, &out), SHAPE_MISMATCH, "[2, 3]");
    assert_refuses(functions[i](a, b, &out), SHAPE_MISMATCH, "[4]");
    assert_refuses(functions[i](make_ramp(HTONE_F32, 2, 0, 3), a, &out), SHAPE_MISMATCH, "[0, 3]");
  }
}

static void operands_that_are_no_numbers_are_named(void** state) {
  (void)state;
  static const BinaryFn comparisons[] = {htone_eq, htone_ne, htone_lt, htone_le, htone_gt, htone_ge};
  htone_tensor *pair = make_ramp(HTONE_F32, 1, 2), *bytes = make_ramp(HTONE_F8E5M2, 1, 2);
  for (size_t i = 0; i < COUNT_OF(comparisons); ++i) {
    assert_refuses(comparisons[i](pair, bytes, &out), DTYPE_MISMATCH, "b is");
  }
  assert_refuses(htone_pow(bytes, pair, &out), DTYPE_MISMATCH, "base");
  assert_refuses(htone_pow(pair, bytes, &out), DTYPE_MISMATCH, "exponent");
}

static void where_refuses_what_does_not_fit(void** state) {
  (void)state;
  htone_tensor *condition = make_ramp(HTONE_BOOL, 1, 2), *pair = make_ramp(HTONE_F32, 1, 2);
  htone_tensor* triple = make_ramp(HTONE_F32, 1, 3);
  assert_refuses(htone_where(make_ramp(HTONE_U8, 1, 2), pair, pair, &out), DTYPE_MISMATCH, "expected bool");
  assert_refuses(htone_where(condition, triple, triple, &out), SHAPE_MISMATCH, "condition [2]");
  assert_refuses(htone_where(condition, pair, triple, &out), SHAPE_MISMATCH, "a [2] and b [3]");
  assert_refuses(htone_where(condition, pair, make_ramp(HTONE_F8E4M3, 1, 2), &out), DTYPE_MISMATCH, "b is f8e4m3");
}

static void integers_are_not_divided_by_0(void** state) {
  (void)state;
  static const BinaryFn functions[] = {htone_fmod, htone_remainder, htone_floor_divide};
  htone_tensor* b = make_tensor(HTONE_I32, (const double[]){1, -1, 3, 0}, 2, 2, 2);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_refuses(functions[i](make_ramp(HTONE_I32, 1, 2), b, &out), INVALID_ARGUMENT, "b[1, 1] is 0, and an integer");
    assert_refuses(functions[i](make_ramp(HTONE_BOOL, 1, 2), make_ramp(HTONE_BOOL, 1, 2), &out), DTYPE_MISMATCH,
                   "a and b are bool");
    apply2(functions[i], make_ramp(HTONE_F32, 1, 2), b);
  }
}

static void floats_have_no_bits(void** state) {
  (void)state;
  static const BinaryFn functions[] = {htone_bitwise_and, htone_bitwise_or, htone_bitwise_xor};
  htone_tensor *numbers = make_ramp(HTONE_F32, 1, 2), *integers = make_ramp(HTONE_I32, 1, 2);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_refuses(functions[i](numbers, integers, &out), DTYPE_MISMATCH, "a is f32, expected an integer or bool");
    assert_refuses(functions[i](integers, numbers, &out), DTYPE_MISMATCH, "b is f32");
  }
  assert_refuses(htone_bitwise_not(numbers, &out), DTYPE_MISMATCH, "input is f32");
}

static void weights_gates_and_ends_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *matrix = make_ramp(HTONE_F32, 2, 2, 3), *pair = make_ramp(HTONE_F32, 1, 2);
  htone_tensor *scalar = make_scalar(HTONE_F32, 1), *integers = make_ramp(HTONE_I32, 1, 2);
  assert_refuses(htone_prelu(matrix, pair, &out), SHAPE_MISMATCH, "weight [2]");
  assert_refuses(htone_prelu(pair, pair, &out), SHAPE_MISMATCH, "dimension 1 of [2]");
  assert_refuses(htone_prelu(matrix, integers, &out), DTYPE_MISMATCH, "weight is i32");
  assert_refuses(htone_glu(matrix, 1, &out), SHAPE_MISMATCH, "input [2, 3] has an odd size in dimension 1");
  assert_refuses(htone_glu(matrix, 2, &out), INVALID_ARGUMENT, "dim=2");
  assert_refuses(htone_glu(scalar, 0, &out), INVALID_ARGUMENT, "input is a scalar");
  assert_refuses(htone_lerp(matrix, pair, scalar, &out), SHAPE_MISMATCH, "end [2]");
  assert_refuses(htone_lerp(matrix, scalar, pair, &out), SHAPE_MISMATCH, "weight [2]");
  assert_refuses(htone_lerp_scalar(integers, integers, 0.5, &out), DTYPE_MISMATCH, "input is i32, expected a float");
  assert_refuses(htone_lerp_scalar(pair, pair, NAN, &out), INVALID_ARGUMENT, "weight=nan is not finite");
  assert_refuses(htone_addcdiv(integers, integers, integers, 1, &out), DTYPE_MISMATCH, "are integers");
}

static int32_t all_close(htone_tensor* a, htone_tensor* b, int32_t equal_nan) {
  int32_t is_close = -1;
  assert_ok(htone_all_close(a, b, 0.25, 0, equal_nan, &is_close));
  return is_close;
}

static void all_close_is_one_bool(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F32, (const double[]){1, 5, NAN}, 1, 3);
  htone_tensor* b = make_tensor(HTONE_F32, (const double[]){1, 4, NAN}, 1, 3);
  int32_t is_close = -1;
  assert_int_equal(all_close(a, b, 1), 1);
  assert_int_equal(all_close(a, b, 0), 0);
  assert_int_equal(all_close(b, make_ramp(HTONE_F32, 1, 3), 1), 0);
  assert_int_equal(all_close(make_ramp(HTONE_F32, 1, 0), make_ramp(HTONE_F32, 1, 0), 0), 1);
  assert_refuses(htone_all_close(a, b, -1, 0, 0, &is_close), INVALID_ARGUMENT, "rtol=-1, expected at least 0");
  assert_refuses(htone_all_close(a, b, 0, NAN, 0, &is_close), INVALID_ARGUMENT, "atol=nan");
}

/* A15 */
static void a_write_between_forward_and_backward_is_noticed(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  htone_tensor* out = apply1(htone_exp, x);
  htone_tensor* loss = sum_of(out);
  htone_tensor* same = NULL;
  assert_ok(htone_tensor_detach(out, &same));
  assert_ok(htone_tensor_fill(keep_tensor(same), 0));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "written");
}

typedef htone_status (*ScalarFn)(htone_tensor*, double, htone_tensor**);

static htone_tensor* apply_number(ScalarFn function, htone_tensor* input, double number) {
  htone_tensor* out = NULL;
  assert_ok(function(input, number, &out));
  return keep_tensor(out);
}

/* 1 + 2^-9 is no bf16: rounded to bf16 first it would be 1. */
static void a_number_is_not_rounded_to_16_bits(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_BF16, (const double[]){256}, 1, 1);
  assert_values(apply_number(htone_mul_scalar, x, 1 + 0x1.8p-8), 0, 258);
}

static void integers_take_whole_numbers_alone(void** state) {
  (void)state;
  static const ScalarFn functions[] = {htone_add_scalar, htone_sub_scalar, htone_mul_scalar};
  htone_tensor *x = make_ramp(HTONE_I32, 1, 2), *bytes = make_ramp(HTONE_F8E5M2, 1, 2);
  for (size_t k = 0; k < COUNT_OF(functions); ++k) {
    assert_refuses(functions[k](x, 0.5, &out), INVALID_ARGUMENT, "number=0.5, expected a whole number");
    assert_refuses(functions[k](x, NAN, &out), INVALID_ARGUMENT, "number=nan");
    assert_refuses(functions[k](x, INFINITY, &out), INVALID_ARGUMENT, "number=inf");
    assert_refuses(functions[k](x, 0x1p63, &out), INVALID_ARGUMENT, "within 64 bits");
    assert_refuses(functions[k](bytes, 1, &out), DTYPE_MISMATCH, "input is f8e5m2");
  }
  assert_refuses(htone_sub_scalar(make_ramp(HTONE_BOOL, 1, 2), 1, &out), DTYPE_MISMATCH, "input is bool");
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
    assert_values(apply_number(functions[i], wide, 0x1p62), 0, expected[i][0], expected[i][1]);
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(storage_formats_bools_and_integers_are_refused),
      cmocka_unit_test(shapes_that_do_not_broadcast_are_both_named),
      cmocka_unit_test(operands_that_are_no_numbers_are_named),
      cmocka_unit_test(where_refuses_what_does_not_fit),
      cmocka_unit_test(integers_are_not_divided_by_0),
      cmocka_unit_test(floats_have_no_bits),
      cmocka_unit_test(weights_gates_and_ends_that_do_not_fit_are_named),
      cmocka_unit_test(all_close_is_one_bool),
      cmocka_unit_test(a_write_between_forward_and_backward_is_noticed),
      cmocka_unit_test(a_number_is_not_rounded_to_16_bits),
      cmocka_unit_test(integers_take_whole_numbers_alone),
      cmocka_unit_test(integers_are_compared_exactly),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
