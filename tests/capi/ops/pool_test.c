/* Pooling and its layers: rounding of gradients, kernels larger than the image, refusals. */

#include "test_modules.h"

static htone_pool_options defaults(void) {
  htone_pool_options options;
  assert_ok(htone_pool_options_init(&options));
  return options;
}

static htone_tensor* max_of_lines(htone_tensor* input, int64_t kernel, const htone_pool_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_max_pool1d(input, kernel, options, &out));
  return keep_tensor(out);
}

static void gradients_of_windows_that_overlap_add_up_before_they_are_rounded(void** state) {
  (void)state;
  htone_pool_options options = defaults();
  options.stride_w = 1;
  htone_tensor* line = leaf(make_tensor(HTONE_BF16, (const double[]){0, 0, 1, 0, 0}, 3, 1, 1, 5));
  htone_tensor* result = max_of_lines(line, 3, &options);
  htone_tensor* weights = make_tensor(HTONE_BF16, (const double[]){1, 0.00390625, 0.00390625}, 3, 1, 1, 3);
  backward(sum_of(apply2(htone_mul, result, weights)));
  assert_values(grad_of(line), 0, 0, 0, 1.0078125, 0, 0);
}

static void so_do_those_of_windows_that_overlap_in_height_alone(void** state) {
  (void)state;
  htone_pool_options options = defaults();
  options.stride_h = options.stride_w = 1;
  htone_tensor* column = leaf(make_tensor(HTONE_BF16, (const double[]){0, 0, 1, 0, 0}, 4, 1, 1, 5, 1));
  htone_tensor* weights = make_tensor(HTONE_BF16, (const double[]){1, 0.00390625, 0.00390625}, 4, 1, 1, 3, 1);
  htone_tensor* out = NULL;
  assert_ok(htone_max_pool2d(column, 3, 1, &options, &out));
  backward(sum_of(apply2(htone_mul, keep_tensor(out), weights)));
  assert_values(grad_of(column), 0, 0, 0, 1.0078125, 0, 0);
}

/* A37: a kernel of 2^62 elements over 16; a walk over all of them would not end. */
static void a_kernel_far_larger_than_the_image_is_walked_within_the_image(void** state) {
  (void)state;
  const int64_t most = INT32_MAX;
  htone_tensor *out = NULL, *image = leaf(make_ramp(HTONE_F32, 4, 1, 1, 4, 4));
  htone_pool_options options = defaults();
  options.ceil_mode = 1;
  assert_ok(htone_max_pool2d(image, most, most, &options, &out));
  assert_shape(keep_tensor(out), 1, 1, 1, 1);
  assert_values(out, 0, 15);
  backward(sum_of(out));
  assert_values(grad_of(image), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
  image = make_ramp(HTONE_F32, 4, 1, 1, 4, 4);
  assert_ok(htone_avg_pool2d(image, most, most, &options, &out));
  assert_values(keep_tensor(out), 0, 7.5); /* padded by nothing, so the 16 elements count */
  /* Windows that are as wide apart: the second covers columns 1 to 3. */
  options.stride_w = options.stride_h = (int64_t)1 << 30;
  options.padding_w = options.padding_h = most / 2;
  image = leaf(make_tensor(HTONE_F32, (const double[]){9, 1, 2, 3, 8, 5, 4, 7}, 3, 1, 1, 8));
  options.stride_h = options.padding_h = 0;
  assert_ok(htone_max_pool1d(image, most, &options, &out));
  assert_shape(keep_tensor(out), 1, 1, 2);
  assert_values(out, 0, 9, 8);
  backward(sum_of(out));
  assert_values(grad_of(image), 0, 1, 0, 0, 0, 1, 0, 0, 0);
}

/* A37: every second row and column of the image, from either end, seen by a window of 2^31 - 1 of both. */
static void a_dilated_kernel_far_larger_than_the_image_is_walked_within_it(void** state) {
  (void)state;
  htone_tensor *out = NULL, *image = leaf(make_ramp(HTONE_F32, 4, 1, 1, 4, 4));
  htone_pool_options options = defaults();
  options.stride_h = options.stride_w = 1;
  options.dilation_h = options.dilation_w = 2;
  options.padding_h = options.padding_w = INT32_MAX - 1;
  assert_ok(htone_max_pool2d(image, INT32_MAX, INT32_MAX, &options, &out));
  assert_shape(keep_tensor(out), 1, 1, 4, 4);
  assert_values(out, 0, 10, 11, 10, 11, 14, 15, 14, 15, 10, 11, 10, 11, 14, 15, 14, 15);
  backward(sum_of(out));
  assert_values(grad_of(image), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 0, 0, 4, 4);
}

static void windows_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_tensor* images = make_ramp(HTONE_F32, 4, 1, 1, 4, 4);
  htone_pool_options options = defaults();
  assert_refuses(htone_max_pool2d(images, 5, 2, NULL, &out), INVALID_ARGUMENT, "kernel_h spans 5");
  assert_refuses(htone_max_pool1d(make_ramp(HTONE_F32, 3, 1, 1, 2), 4, NULL, &out), INVALID_ARGUMENT,
                 "kernel_w spans 4");
  options.padding_w = 2;
  assert_refuses(htone_max_pool2d(images, 2, 2, &options, &out), INVALID_ARGUMENT, "options.padding_w=2");
  options = defaults();
  options.dilation_h = 2;
  assert_refuses(htone_avg_pool2d(images, 2, 2, &options, &out), INVALID_ARGUMENT, "dilation_h=2");
  assert_refuses(htone_max_pool1d(images, 2, NULL, &out), SHAPE_MISMATCH, "expected 3");
  assert_refuses(htone_max_pool2d(make_ramp(HTONE_I32, 4, 1, 1, 2, 2), 1, 1, NULL, &out), DTYPE_MISMATCH, "i32");
}

static void layers_apply_their_operation_with_their_options(void** state) {
  (void)state;
  htone_tensor* image = make_ramp(HTONE_F32, 4, 1, 1, 2, 4);
  htone_module* module = NULL;
  htone_pool_options options = defaults();
  options.stride_w = 1;
  assert_ok(htone_module_create_max_pool2d(2, 3, &options, &module));
  assert_values(forward(keep_module(module), image), 0, 6, 7);
  assert_ok(htone_module_create_avg_pool2d(2, 2, NULL, &module));
  assert_values(forward(keep_module(module), image), 0, 2.5, 4.5);
  assert_ok(htone_module_create_adaptive_avg_pool2d(1, 1, &module));
  assert_values(forward(keep_module(module), image), 0, 3.5);
  assert_ok(htone_module_create_adaptive_max_pool2d(1, 2, &module));
  assert_values(forward(keep_module(module), image), 0, 5, 7);
}

static void layers_of_lines_do_so_too(void** state) {
  (void)state;
  htone_tensor* line = make_ramp(HTONE_F32, 3, 1, 1, 5);
  htone_module* module = NULL;
  htone_pool_options options = defaults();
  options.ceil_mode = 1;
  assert_ok(htone_module_create_max_pool1d(2, &options, &module));
  assert_values(forward(keep_module(module), line), 0, 1, 3, 4);
  assert_ok(htone_module_create_avg_pool1d(2, NULL, &module));
  assert_values(forward(keep_module(module), line), 0, 0.5, 2.5);
  assert_ok(htone_module_create_adaptive_avg_pool1d(1, &module));
  assert_values(forward(keep_module(module), line), 0, 2);
  assert_ok(htone_module_create_adaptive_max_pool1d(2, &module));
  assert_values(forward(keep_module(module), line), 0, 2, 4);
  module = NULL;
  options.stride_h = 2;
  assert_fails(htone_module_create_max_pool1d(2, &options, &module), HTONE_ERROR_INVALID_ARGUMENT,
               "there is no height");
  assert_fails(htone_module_create_adaptive_max_pool1d(0, &module), HTONE_ERROR_INVALID_ARGUMENT, "result_w=0");
  assert_null(module);
}

static void layers_pool_volumes(void** state) {
  (void)state;
  htone_module *largest = NULL, *average = NULL;
  htone_pool3d_options options;
  htone_tensor* volume = make_ramp(HTONE_F32, 5, 1, 1, 2, 2, 3);
  assert_ok(htone_pool3d_options_init(&options));
  options.stride_w = 1;
  assert_ok(htone_module_create_max_pool3d(2, 1, 2, &options, &largest));
  assert_values(forward(keep_module(largest), volume), 0, 7, 8, 10, 11);
  assert_ok(htone_module_create_avg_pool3d(2, 1, 2, &options, &average));
  assert_values(forward(keep_module(average), volume), 0, 3.5, 4.5, 6.5, 7.5);
  options.dilation_d = 2;
  assert_fails(htone_module_create_avg_pool3d(2, 1, 2, &options, &average), HTONE_ERROR_INVALID_ARGUMENT,
               "options.dilation=2, expected 1 for averages");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_windows_that_overlap_add_up_before_they_are_rounded),
      cmocka_unit_test(so_do_those_of_windows_that_overlap_in_height_alone),
      cmocka_unit_test(a_kernel_far_larger_than_the_image_is_walked_within_the_image),
      cmocka_unit_test(a_dilated_kernel_far_larger_than_the_image_is_walked_within_it),
      cmocka_unit_test(windows_that_cannot_be_are_named),
      cmocka_unit_test(layers_apply_their_operation_with_their_options),
      cmocka_unit_test(layers_of_lines_do_so_too),
      cmocka_unit_test(layers_pool_volumes),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
