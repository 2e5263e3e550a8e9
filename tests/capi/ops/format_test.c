/* Roundings to formats: the defaults, and what they refuse. */
#include <halftone/autograd.h>
#include <halftone/format.h>
#include <math.h>

#include "test_tensors.h"

static htone_tensor* out;

static void the_defaults_round_to_nearest_and_saturate(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){0.1, -500, 1.0625, 0}, 1, 4);
  assert_ok(htone_round_to(x, HTONE_FORMAT_E4M3, NULL, &out));
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_F32);
  assert_values(out, 0, 0.1015625, -448, 1, 0);
}

static void a_format_of_ones_own_has_its_bits(void** state) {
  (void)state;
  htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
  htone_tensor* x = make_tensor(HTONE_F64, (const double[]){1.3, 100, 0.1}, 1, 3);
  options.exponent_bits = 3;
  options.mantissa_bits = 2;
  options.overflow = HTONE_OVERFLOW_NON_FINITE;
  assert_ok(htone_round_to(x, HTONE_FORMAT_CUSTOM, &options, &out));
  assert_values(keep_tensor(out), 0, 1.25, INFINITY, 0.125);
}

static void the_result_needs_no_gradient(void** state) {
  (void)state;
  int32_t required = 1;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  assert_ok(htone_round_to(x, HTONE_FORMAT_BF16, NULL, &out));
  assert_ok(htone_tensor_requires_grad(keep_tensor(out), &required));
  assert_int_equal(required, 0);
}

static void a_dtype_must_hold_the_format_or_lie_in_it(void** state) {
  (void)state;
  htone_tensor *half = make_tensor(HTONE_F16, (const double[]){65504}, 1, 1), *bf16 = make_ramp(HTONE_BF16, 1, 1);
  assert_ok(htone_round_to(half, HTONE_FORMAT_TF32, NULL, &out));
  assert_values(keep_tensor(out), 0, 65504);
  assert_refuses(htone_round_to(half, HTONE_FORMAT_BF16, NULL, &out), DTYPE_MISMATCH, "input is f16");
  assert_refuses(htone_round_to(bf16, HTONE_FORMAT_F16, NULL, &out), DTYPE_MISMATCH, "5 exponent bits");
  assert_refuses(htone_round_to(make_ramp(HTONE_I32, 1, 1), HTONE_FORMAT_F16, NULL, &out), DTYPE_MISMATCH, "i32");
}

static void a_format_with_more_digits_changes_no_number(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){0.1, -INFINITY, NAN, 0x1p-149}, 1, 4);
  assert_ok(htone_round_to(x, HTONE_FORMAT_F64, NULL, &out));
  assert_values(keep_tensor(out), 0, (float)0.1, -INFINITY, NAN, 0x1p-149);
  htone_tensor* wide = make_tensor(HTONE_F64, (const double[]){0.1, 1e300, 0x1p-150}, 1, 3);
  assert_ok(htone_round_to(wide, HTONE_FORMAT_F64, NULL, &out));
  assert_values(keep_tensor(out), 0, 0.1, 1e300, 0x1p-150);
  assert_ok(htone_round_to(wide, HTONE_FORMAT_F32, NULL, &out));
  assert_values(keep_tensor(out), 0, (float)0.1, 0x1.fffffep127, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_defaults_round_to_nearest_and_saturate),
      cmocka_unit_test(a_format_of_ones_own_has_its_bits),
      cmocka_unit_test(the_result_needs_no_gradient),
      cmocka_unit_test(a_dtype_must_hold_the_format_or_lie_in_it),
      cmocka_unit_test(a_format_with_more_digits_changes_no_number),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
