/* Images at the places of a grid: rounding of gradients, a grid without gradient, refusals. */

#include "test_tensors.h"

static htone_tensor* sampled(htone_tensor* input, htone_tensor* grid) {
  htone_tensor* out = NULL;
  assert_ok(htone_grid_sample(input, grid, HTONE_GRID_MODE_BILINEAR, HTONE_GRID_PADDING_BORDER, 1, &out));
  return keep_tensor(out);
}

/* In FP16, 2048 + 1 + 1 would stay 2048. */
static void gradients_of_sixteen_bits_are_rounded_once(void** state) {
  (void)state;
  htone_tensor* image = leaf(make_ramp(HTONE_F16, 4, 1, 1, 1, 1));
  htone_tensor* factors = make_tensor(HTONE_F16, (const double[]){2048, 1, 1}, 4, 1, 1, 1, 3);
  backward(sum_of(apply2(htone_mul, sampled(image, make_ramp(HTONE_F16, 4, 1, 1, 3, 2)), factors)));
  assert_values(grad_of(image), 0, 2050);
}

/* The elements are 0 to 3, and the place is in the middle of the second row. */
static void a_grid_may_have_the_only_gradient(void** state) {
  (void)state;
  htone_tensor* grid = leaf(make_tensor(HTONE_F32, (const double[]){0, 1}, 4, 1, 1, 1, 2));
  htone_tensor* found = sampled(make_ramp(HTONE_F32, 4, 1, 1, 2, 2), grid);
  assert_values(found, 0, 2.5);
  backward(sum_of(found));
  assert_values(grad_of(grid), 0, 0.5, 0);
}

static void refuses_what_has_no_places(void** state) {
  (void)state;
  htone_tensor *image = make_ramp(HTONE_F32, 4, 2, 1, 2, 3), *grid = make_ramp(HTONE_F32, 4, 2, 1, 1, 2);
  htone_tensor *volume = make_ramp(HTONE_F32, 5, 2, 1, 1, 2, 3), *line = make_ramp(HTONE_F32, 3, 2, 1, 3);
  const htone_grid_mode mode = HTONE_GRID_MODE_BILINEAR;
  const htone_grid_padding zeros = HTONE_GRID_PADDING_ZEROS;
  assert_refuses(htone_grid_sample(line, grid, mode, zeros, 0, &out), SHAPE_MISMATCH,
                 "input [2, 1, 3] has 3 dimensions, expected 4 or 5");
  assert_refuses(htone_grid_sample(make_ramp(HTONE_F32, 4, 2, 1, 0, 3), grid, mode, zeros, 0, &out), SHAPE_MISMATCH,
                 "input.shape[2]=0");
  assert_refuses(htone_grid_sample(image, make_ramp(HTONE_F32, 4, 2, 1, 1, 3), mode, zeros, 0, &out), SHAPE_MISMATCH,
                 "grid [2, 1, 1, 3], expected [2, height, width, 2] for input [2, 1, 2, 3]");
  assert_refuses(htone_grid_sample(volume, grid, mode, zeros, 0, &out), SHAPE_MISMATCH,
                 "expected [2, depth, height, width, 3]");
  assert_refuses(htone_grid_sample(cast_of(image, HTONE_U8), grid, mode, zeros, 0, &out), DTYPE_MISMATCH,
                 "input is u8");
  assert_refuses(htone_grid_sample(image, cast_of(grid, HTONE_I32), mode, zeros, 0, &out), DTYPE_MISMATCH,
                 "grid is i32");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_sixteen_bits_are_rounded_once),
      cmocka_unit_test(a_grid_may_have_the_only_gradient),
      cmocka_unit_test(refuses_what_has_no_places),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
