/* Elementwise operations: one value each, empty tensors, refusals. */
#include <math.h>

#include "test_tensors.h"

static void arithmetic_has_the_expected_values(void** state) {
  (void)state;
  htone_tensor* a = leaf(make_tensor(HTONE_F32, (const double[]){1, -2, 0.5}, 1, 3));
  htone_tensor* b = leaf(make_tensor(HTONE_F32, (const double[]){4, 0.25, -8}, 1, 3));
  assert_values(apply2(htone_add, a, b), 0, 5, -1.75, -7.5);
  assert_values(apply2(htone_sub, a, b), 0, -3, -2.25, 8.5);
  assert_values(apply2(htone_mul, a, b), 0, 4, -0.5, -4);
  htone_tensor* quotient = apply2(htone_div, a, b);
  assert_values(quotient, 0, 0.25, -8, -0.0625);
  backward(sum_of(quotient));
  assert_values(grad_of(a), 0, 0.25, 4, -0.125);
  assert_values(grad_of(b), 0, -0.0625, 32, -0.0078125);
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

static void relu_keeps_nan(void** state) {
  (void)state;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){-1, 0, 2, NAN, -INFINITY, INFINITY}, 1, 6);
  assert_values(apply1(htone_relu, input), 0, 0, 0, 2, NAN, 0, INFINITY);
}

static void gelu_has_both_forms(void** state) {
  (void)state;
  htone_tensor *input = make_tensor(HTONE_F32, (const double[]){-1, 1}, 1, 2), *erf_form = NULL, *tanh_form = NULL;
  assert_ok(htone_gelu(input, HTONE_GELU_ERF, &erf_form));
  assert_values(keep_tensor(erf_form), 1e-6, -0.15865525393145707, 0.8413447460685429);
  assert_ok(htone_gelu(input, HTONE_GELU_TANH, &tanh_form));
  assert_values(keep_tensor(tanh_form), 1e-6, -0.15880800939172324, 0.8411919906082768);
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
  htone_tensor* out = NULL;
  assert_ok(htone_rescale(make_tensor(HTONE_U8, (const double[]){0, 51, 255}, 1, 3), 1.0 / 255, -0.5, &out));
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_F32);
  assert_values(out, 1e-7, -0.5, -0.3, 0.5);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic_has_the_expected_values),
      cmocka_unit_test(empty_operands_give_an_empty_result),
      cmocka_unit_test(shapes_that_do_not_broadcast_are_both_named),
      cmocka_unit_test(relu_keeps_nan),
      cmocka_unit_test(gelu_has_both_forms),
      cmocka_unit_test(float_operations_refuse_integers),
      cmocka_unit_test(rescaling_turns_bytes_into_floats),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
