/* Lines and images of another size: rounding of gradients, the layers, refusals. */

#include "test_modules.h"

static htone_tensor* nearest_of(htone_tensor* input, int64_t result_w) {
  htone_tensor* out = NULL;
  assert_ok(htone_upsample_nearest1d(input, result_w, &out));
  return keep_tensor(out);
}

static htone_tensor* line_of(htone_dtype dtype, double a, double b, double c) {
  return make_tensor(dtype, (const double[]){a, b, c}, 3, 1, 1, 3);
}

/* In FP16, 2048 + 1 + 1 would stay 2048. */
static void gradients_of_sixteen_bits_are_rounded_once(void** state) {
  (void)state;
  htone_tensor* line = leaf(make_ramp(HTONE_F16, 3, 1, 1, 1));
  htone_tensor* factors = make_tensor(HTONE_F16, (const double[]){2048, 1, 1}, 3, 1, 1, 3);
  backward(sum_of(apply2(htone_mul, nearest_of(line, 3), factors)));
  assert_values(grad_of(line), 0, 2050);
}

static void layers_enlarge_by_whole_factors(void** state) {
  (void)state;
  htone_module *nearest1d = NULL, *nearest2d = NULL, *linear = NULL, *bilinear = NULL;
  assert_ok(htone_module_create_upsample_nearest1d(2, &nearest1d));
  assert_ok(htone_module_create_upsample_nearest2d(2, 3, &nearest2d));
  assert_ok(htone_module_create_upsample_linear1d(2, 0, &linear));
  assert_ok(htone_module_create_upsample_bilinear2d(1, 2, 1, &bilinear));
  htone_tensor* line = line_of(HTONE_F32, 0, 4, 2);
  assert_values(forward(keep_module(nearest1d), line), 0, 0, 0, 4, 4, 2, 2);
  assert_values(forward(keep_module(linear), line), 1e-6, 0, 1, 3, 3.5, 2.5, 2);
  assert_shape(forward(keep_module(nearest2d), make_ramp(HTONE_F32, 4, 2, 1, 3, 2)), 2, 1, 6, 6);
  assert_shape(forward(keep_module(bilinear), make_ramp(HTONE_F32, 4, 2, 1, 3, 2)), 2, 1, 3, 4);
  assert_refuses(htone_module_forward(nearest2d, line, NULL, &out), SHAPE_MISMATCH, "expected 4");
  assert_refuses(htone_module_forward(linear, make_scalar(HTONE_F32, 1), NULL, &out), SHAPE_MISMATCH, "expected 3");
  assert_fails(htone_module_create_upsample_linear1d(0, 0, &linear), HTONE_ERROR_INVALID_ARGUMENT, "scale_w=0");
}

static void refuses_what_cannot_be_resized(void** state) {
  (void)state;
  htone_tensor* line = line_of(HTONE_F32, 0, 4, 2);
  assert_refuses(htone_upsample_nearest1d(line, 0, &out), INVALID_ARGUMENT, "result_w=0");
  assert_refuses(htone_upsample_bilinear2d(line, 2, 2, 0, &out), SHAPE_MISMATCH, "input [1, 1, 3]");
  assert_refuses(htone_upsample_linear1d(make_ramp(HTONE_F32, 3, 1, 1, 0), 2, 0, &out), SHAPE_MISMATCH,
                 "input.shape[2]=0");
  assert_refuses(htone_upsample_nearest1d(cast_of(line, HTONE_I32), 2, &out), DTYPE_MISMATCH, "input is i32");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_sixteen_bits_are_rounded_once),
      cmocka_unit_test(layers_enlarge_by_whole_factors),
      cmocka_unit_test(refuses_what_cannot_be_resized),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
