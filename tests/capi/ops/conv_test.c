/* Convolutions and their layers: refusals, weights, options. */
#include <math.h>
#include <stdlib.h>

#include "test_modules.h"

static htone_conv_options defaults(void) {
  htone_conv_options options;
  assert_ok(htone_conv_options_init(&options));
  return options;
}

typedef htone_status (*ConvFn)(htone_tensor*, htone_tensor*, htone_tensor*, const htone_conv_options*, htone_tensor**);

static htone_tensor* convolve(ConvFn function, htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                              const htone_conv_options* options) {
  htone_tensor* out = NULL;
  assert_ok(function(input, weight, bias, options, &out));
  return keep_tensor(out);
}

/* A11 */
static void shapes_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *images = make_ramp(HTONE_F32, 4, 1, 4, 5, 5), *kernel = make_ramp(HTONE_F32, 4, 6, 3, 3, 3);
  assert_refuses(htone_conv2d(images, kernel, NULL, NULL, &out), SHAPE_MISMATCH, "input.shape[1]=4");
  assert_refuses(htone_conv1d(images, kernel, NULL, NULL, &out), SHAPE_MISMATCH, "expected 3");
  assert_refuses(htone_conv2d(images, make_ramp(HTONE_F32, 3, 6, 4, 3), NULL, NULL, &out), SHAPE_MISMATCH,
                 "weight [6, 4, 3]");
  assert_refuses(htone_conv2d(images, make_ramp(HTONE_F32, 4, 6, 4, 3, 7), NULL, NULL, &out), INVALID_ARGUMENT,
                 "weight spans 7");
  assert_refuses(htone_conv2d(images, make_ramp(HTONE_F32, 4, 6, 4, 0, 1), NULL, NULL, &out), SHAPE_MISMATCH,
                 "weight.shape[2]=0");
  assert_refuses(
      htone_conv2d(make_ramp(HTONE_F32, 4, 1, 4, 0, 5), make_ramp(HTONE_F32, 4, 6, 4, 1, 1), NULL, NULL, &out),
      SHAPE_MISMATCH, "input.shape[2]=0");
  assert_refuses(htone_conv2d(images, make_ramp(HTONE_F32, 4, 6, 4, 3, 3), make_ramp(HTONE_F32, 1, 5), NULL, &out),
                 SHAPE_MISMATCH, "bias [5] differs from [6]");
  assert_refuses(htone_conv2d(images, make_ramp(HTONE_BF16, 4, 6, 4, 3, 3), NULL, NULL, &out), DTYPE_MISMATCH, "bf16");
}

static void windows_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_tensor *images = make_ramp(HTONE_F32, 4, 1, 4, 5, 5), *kernel = make_ramp(HTONE_F32, 4, 6, 4, 3, 3);
  htone_conv_options options = defaults();
  options.dilation_h = 3;
  assert_refuses(htone_conv2d(images, kernel, NULL, &options, &out), INVALID_ARGUMENT, "along h");
  options = defaults();
  options.padding_h = options.padding_w = INT32_MAX;
  assert_refuses(htone_conv2d(images, kernel, NULL, &options, &out), INVALID_ARGUMENT, "options");
  options = defaults();
  options.padding_h = 4;
  assert_refuses(htone_conv_transpose2d(images, make_ramp(HTONE_F32, 4, 4, 2, 3, 3), NULL, &options, &out),
                 INVALID_ARGUMENT, "less than 1");
  options = defaults();
  options.stride_h = 2;
  assert_refuses(htone_conv1d(make_ramp(HTONE_F32, 3, 1, 4, 5), make_ramp(HTONE_F32, 3, 6, 4, 3), NULL, &options, &out),
                 INVALID_ARGUMENT, "there is no height");
}

static void assert_within(htone_tensor* tensor, double bound) {
  const int64_t count = numel_of(tensor);
  double *values = values_of(tensor), largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = fmax(largest, fabs(values[i]));
  free(values);
  assert_true(largest <= bound);
  assert_true(largest > 0.8 * bound);
}

static void layers_draw_their_weights_as_pytorch_does(void** state) {
  (void)state;
  htone_conv_options options = defaults();
  options.groups = 4;
  htone_module *conv = NULL, *transpose = NULL, *line = NULL, *line_transpose = NULL;
  assert_ok(htone_module_create_conv2d(test_device(), 16, 32, 3, 3, &options, &conv));
  keep_module(conv);
  assert_shape(weights_of(conv, 0), 32, 4, 3, 3);
  assert_shape(weights_of(conv, 1), 32);
  assert_within(weights_of(conv, 0), 1.0 / 6);
  assert_within(weights_of(conv, 1), 1.0 / 6);
  assert_ok(htone_module_create_conv_transpose2d(test_device(), 16, 32, 2, 2, &options, &transpose));
  keep_module(transpose);
  assert_shape(weights_of(transpose, 0), 16, 8, 2, 2);
  assert_shape(weights_of(transpose, 1), 32);
  assert_within(weights_of(transpose, 0), 1.0 / sqrt(32));
  assert_ok(htone_module_create_conv1d(test_device(), 16, 32, 4, NULL, &line));
  keep_module(line);
  assert_shape(weights_of(line, 0), 32, 16, 4);
  assert_within(weights_of(line, 0), 1.0 / 8);
  assert_ok(htone_module_create_conv_transpose1d(test_device(), 16, 32, 4, &options, &line_transpose));
  keep_module(line_transpose);
  assert_shape(weights_of(line_transpose, 0), 16, 8, 4);
  assert_shape(weights_of(line_transpose, 1), 32);
  assert_within(weights_of(line_transpose, 0), 1.0 / sqrt(32));
}

static void layers_apply_their_operation_with_their_options(void** state) {
  (void)state;
  htone_conv_options options = defaults();
  options.stride_h = 2;
  options.padding_w = 1;
  options.bias = 0;
  options.dtype = HTONE_F64;
  htone_module* module = NULL;
  size_t count = 0;
  assert_ok(htone_module_create_conv2d(test_device(), 3, 4, 3, 2, &options, &module));
  keep_module(module);
  assert_ok(htone_module_parameter_count(module, &count));
  assert_int_equal(count, 1);
  htone_tensor* images = make_noise(HTONE_F64, 1, 4, 2, 3, 6, 5);
  htone_tensor* result = forward(module, images);
  double* expected = values_of(convolve(htone_conv2d, images, weights_of(module, 0), NULL, &options));
  assert_shape(result, 2, 4, 2, 6);
  check_values(result, 0, expected, (size_t)numel_of(result), __FILE__, __LINE__);
  free(expected);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_that_do_not_fit_are_named),
      cmocka_unit_test(windows_that_cannot_be_are_named),
      cmocka_unit_test(layers_draw_their_weights_as_pytorch_does),
      cmocka_unit_test(layers_apply_their_operation_with_their_options),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
