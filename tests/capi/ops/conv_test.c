/* Convolutions and their layers: values computed by hand, autocast, refusals. */
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

static void a_kernel_slides_over_an_image_unmirrored(void** state) {
  (void)state;
  htone_tensor* image = make_ramp(HTONE_F32, 4, 1, 1, 3, 3);
  htone_tensor* kernel = make_tensor(HTONE_F32, (const double[]){1, 10, 100, 1000}, 4, 1, 1, 2, 2);
  htone_tensor* result = convolve(htone_conv2d, image, kernel, NULL, NULL);
  assert_shape(result, 1, 1, 2, 2);
  assert_values(result, 0, 4310, 5421, 7643, 8754);
  htone_tensor* bias = make_tensor(HTONE_F32, (const double[]){0.5}, 1, 1);
  assert_values(convolve(htone_conv2d, image, kernel, bias, NULL), 0, 4310.5, 5421.5, 7643.5, 8754.5);
}

static void output_padding_makes_a_transpose_larger(void** state) {
  (void)state;
  htone_conv_options options = defaults();
  options.stride_w = 2;
  htone_tensor* line = make_tensor(HTONE_F32, (const double[]){1, 2}, 3, 1, 1, 2);
  htone_tensor* kernel = make_tensor(HTONE_F32, (const double[]){1, 10, 100}, 3, 1, 1, 3);
  htone_tensor* bias = make_tensor(HTONE_F32, (const double[]){0.25}, 1, 1);
  assert_values(convolve(htone_conv_transpose1d, line, kernel, NULL, &options), 0, 1, 10, 102, 20, 200);
  options.output_padding_w = 1;
  assert_values(convolve(htone_conv_transpose1d, line, kernel, bias, &options), 0, 1.25, 10.25, 102.25, 20.25, 200.25,
                0.25);
}

static void autocast_convolves_in_low_precision_and_leads_gradients_back_in_fp32(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor *images = make_noise(HTONE_F32, 1, 4, 2, 3, 6, 6),
               *kernel = leaf(make_noise(HTONE_F32, 2, 4, 4, 3, 3, 3));
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  htone_tensor* result = convolve(htone_conv2d, images, kernel, NULL, NULL);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(result), HTONE_BF16);
  backward(sum_of(cast_of(result, HTONE_F32)));
  assert_int_equal(dtype_of(grad_of(kernel)), HTONE_F32);
}

/* A11 */
static void shapes_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *out = NULL, *images = make_ramp(HTONE_F32, 4, 1, 4, 5, 5),
               *kernel = make_ramp(HTONE_F32, 4, 6, 3, 3, 3);
  assert_fails(htone_conv2d(images, kernel, NULL, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH, "input.shape[1]=4");
  assert_fails(htone_conv1d(images, kernel, NULL, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH, "expected 3");
  assert_fails(htone_conv2d(images, make_ramp(HTONE_F32, 3, 6, 4, 3), NULL, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "weight [6, 4, 3]");
  assert_fails(htone_conv2d(images, make_ramp(HTONE_F32, 4, 6, 4, 3, 7), NULL, NULL, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "weight spans 7");
  assert_fails(htone_conv2d(images, make_ramp(HTONE_F32, 4, 6, 4, 0, 1), NULL, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "weight.shape[2]=0");
  assert_fails(htone_conv2d(make_ramp(HTONE_F32, 4, 1, 4, 0, 5), make_ramp(HTONE_F32, 4, 6, 4, 1, 1), NULL, NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input.shape[2]=0");
  assert_fails(htone_conv2d(images, make_ramp(HTONE_F32, 4, 6, 4, 3, 3), make_ramp(HTONE_F32, 1, 5), NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "bias [5] differs from [6]");
  assert_fails(htone_conv2d(images, make_ramp(HTONE_BF16, 4, 6, 4, 3, 3), NULL, NULL, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "bf16");
  assert_null(out);
}

static void windows_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_tensor *out = NULL, *images = make_ramp(HTONE_F32, 4, 1, 4, 5, 5),
               *kernel = make_ramp(HTONE_F32, 4, 6, 4, 3, 3);
  htone_conv_options options = defaults();
  options.stride_w = 0;
  assert_fails(htone_conv2d(images, kernel, NULL, &options, &out), HTONE_ERROR_INVALID_ARGUMENT, "options.stride_w=0");
  options = defaults();
  options.padding_h = -1;
  assert_fails(htone_conv2d(images, kernel, NULL, &options, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.padding_h=-1");
  options = defaults();
  options.dilation_h = 3;
  assert_fails(htone_conv2d(images, kernel, NULL, &options, &out), HTONE_ERROR_INVALID_ARGUMENT, "along h");
  options = defaults();
  options.groups = 4;
  assert_fails(htone_conv2d(images, kernel, NULL, &options, &out), HTONE_ERROR_INVALID_ARGUMENT, "options.groups=4");
  options = defaults();
  options.padding_h = options.padding_w = INT32_MAX;
  assert_fails(htone_conv2d(images, kernel, NULL, &options, &out), HTONE_ERROR_INVALID_ARGUMENT, "options");
  options = defaults();
  options.padding_h = 4;
  assert_fails(htone_conv_transpose2d(images, make_ramp(HTONE_F32, 4, 4, 2, 3, 3), NULL, &options, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "less than 1");
  options = defaults();
  options.output_padding_w = 1;
  assert_fails(htone_conv_transpose2d(images, make_ramp(HTONE_F32, 4, 4, 2, 3, 3), NULL, &options, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "options.output_padding_w=1");
  options = defaults();
  options.stride_h = 2;
  assert_fails(htone_conv1d(make_ramp(HTONE_F32, 3, 1, 4, 5), make_ramp(HTONE_F32, 3, 6, 4, 3), NULL, &options, &out),
               HTONE_ERROR_INVALID_ARGUMENT, "there is no height");
  assert_null(out);
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

static void layers_that_cannot_be_are_refused(void** state) {
  (void)state;
  htone_conv_options options = defaults();
  htone_module* module = NULL;
  options.groups = 2;
  assert_fails(htone_module_create_conv2d(test_device(), 3, 4, 3, 3, &options, &module), HTONE_ERROR_INVALID_ARGUMENT,
               "options.groups=2");
  assert_fails(htone_module_create_conv2d(test_device(), 4, 4, 0, 3, NULL, &module), HTONE_ERROR_INVALID_ARGUMENT,
               "kernel_h=0");
  assert_null(module);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_slides_over_an_image_unmirrored),
      cmocka_unit_test(output_padding_makes_a_transpose_larger),
      cmocka_unit_test(autocast_convolves_in_low_precision_and_leads_gradients_back_in_fp32),
      cmocka_unit_test(shapes_that_do_not_fit_are_named),
      cmocka_unit_test(windows_that_cannot_be_are_named),
      cmocka_unit_test(layers_draw_their_weights_as_pytorch_does),
      cmocka_unit_test(layers_apply_their_operation_with_their_options),
      cmocka_unit_test(layers_that_cannot_be_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
