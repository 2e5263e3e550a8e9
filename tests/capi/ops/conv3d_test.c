/* Convolution over three dimensions: one value, gradients, the layer, refusals. */
#include <stdlib.h>

#include "test_modules.h"

static htone_tensor* conv3d_of(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                               const htone_conv3d_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_conv3d(input, weight, bias, options, &out));
  return keep_tensor(out);
}

static htone_conv3d_options default_options(void) {
  htone_conv3d_options options;
  assert_ok(htone_conv3d_options_init(&options));
  return options;
}

static htone_tensor* reshape_of(htone_tensor* input, int32_t ndim, const int64_t* shape) {
  htone_tensor* out = NULL;
  assert_ok(htone_reshape(input, ndim, shape, &out));
  return keep_tensor(out);
}

static void adds_the_products_of_each_window(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 5, 1, 1, 2, 2, 3);
  htone_tensor* weight = make_tensor(HTONE_F32, (const double[]){1, 0, 0, 0, 0, 0, 0, 10}, 5, 1, 1, 2, 2, 2);
  htone_tensor* bias = make_tensor(HTONE_F32, (const double[]){0.5}, 1, 1);
  htone_tensor* out = conv3d_of(input, weight, bias, NULL);
  assert_shape(out, 1, 1, 1, 1, 2);
  assert_values(out, 0, 100.5, 111.5);
}

static void gradients_reach_input_weight_and_bias(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F32, 5, 1, 1, 2, 1, 2));
  htone_tensor* weight = leaf(make_tensor(HTONE_F32, (const double[]){2, 3}, 5, 1, 1, 2, 1, 1));
  htone_tensor* bias = leaf(make_scalar(HTONE_F32, 1));
  const int64_t one[] = {1};
  htone_conv3d_options options = default_options();
  options.padding_d = 1;
  htone_tensor* out = conv3d_of(input, weight, reshape_of(bias, 1, one), &options);
  assert_shape(out, 1, 1, 3, 1, 2);
  assert_values(out, 0, 1, 4, 7, 12, 5, 7);
  htone_tensor* factors = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6}, 5, 1, 1, 3, 1, 2);
  backward(sum_of(apply2(htone_mul, out, factors)));
  assert_values(grad_of(input), 0, 3 + 6, 6 + 8, 9 + 10, 12 + 12);
  assert_values(grad_of(weight), 0, 0 * 3 + 1 * 4 + 2 * 5 + 3 * 6, 0 * 1 + 1 * 2 + 2 * 3 + 3 * 4);
  assert_values(grad_of(bias), 0, 21);
}

/* In FP16, 2048 + 1 + 1 would stay 2048: the slices' gradients add up in FP32. */
static void gradients_of_sixteen_bits_are_rounded_once(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F16, 5, 1, 1, 1, 1, 1));
  htone_tensor* weight = make_tensor(HTONE_F16, (const double[]){2048, 1, 1}, 5, 1, 1, 3, 1, 1);
  htone_conv3d_options options = default_options();
  options.padding_d = 2;
  backward(sum_of(conv3d_of(input, weight, NULL, &options)));
  assert_values(grad_of(input), 0, 2050);
}

static void the_layer_has_pytorchs_parameters(void** state) {
  (void)state;
  htone_module* layer = NULL;
  htone_conv3d_options options = default_options();
  options.groups = 2;
  options.dtype = HTONE_F64;
  assert_ok(htone_module_create_conv3d(test_device(), 4, 6, 3, 1, 2, &options, &layer));
  keep_module(layer);
  htone_tensor *weight = read_parameter(layer, 0, HTONE_F64), *bias = read_parameter(layer, 1, HTONE_F64);
  assert_shape(weight, 6, 2, 3, 1, 2);
  assert_shape(bias, 6);
  double* values = values_of(weight);
  for (int64_t i = 0; i < numel_of(weight); ++i) assert_true(values[i] * values[i] <= 1.0 / 12);
  free(values);
  htone_tensor* out = forward(layer, make_noise(HTONE_F64, 4, 5, 2, 4, 3, 2, 3));
  assert_shape(out, 2, 6, 1, 2, 2);
  assert_int_equal(dtype_of(out), HTONE_F64);
  options.bias = 0;
  htone_module* bare = NULL;
  size_t count = 9;
  assert_ok(htone_module_create_conv3d(test_device(), 4, 6, 3, 1, 2, &options, &bare));
  assert_ok(htone_module_parameter_count(keep_module(bare), &count));
  assert_int_equal(count, 1);
}

static void refuses_what_does_not_fit(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 5, 1, 2, 3, 3, 3), *weight = make_ramp(HTONE_F32, 5, 2, 2, 4, 1, 1);
  htone_tensor* out = NULL;
  htone_module* layer = NULL;
  htone_conv3d_options options = default_options();
  assert_fails(htone_conv3d(input, weight, NULL, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "weight spans 4 elements 1 apart along d, more than the padded input's 3");
  assert_fails(htone_conv3d(make_ramp(HTONE_F32, 3, 2, 3, 3), weight, NULL, NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "input [2, 3, 3] has 3 dimensions, expected 5, or 4 for one image");
  assert_fails(htone_conv3d(make_ramp(HTONE_F32, 5, 1, 3, 4, 3, 3), weight, NULL, NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input.shape[1]=3");
  assert_fails(htone_conv3d(input, cast_of(weight, HTONE_F16), NULL, NULL, &out), HTONE_ERROR_DTYPE_MISMATCH, "weight");
  options.stride_d = 0;
  assert_fails(htone_conv3d(input, weight, NULL, &options, &out), HTONE_ERROR_INVALID_ARGUMENT, "options.stride_d=0");
  assert_fails(htone_module_create_conv3d(test_device(), 1, 1, 1, 1, 1, &options, &layer), HTONE_ERROR_INVALID_ARGUMENT,
               "options.stride_d=0");
  options = default_options();
  options.groups = 2;
  assert_fails(htone_module_create_conv3d(test_device(), 3, 2, 1, 1, 1, &options, &layer), HTONE_ERROR_INVALID_ARGUMENT,
               "options.groups=2 does not divide in_channels=3");
  assert_null(out);
  assert_null(layer);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adds_the_products_of_each_window),
      cmocka_unit_test(gradients_reach_input_weight_and_bias),
      cmocka_unit_test(gradients_of_sixteen_bits_are_rounded_once),
      cmocka_unit_test(the_layer_has_pytorchs_parameters),
      cmocka_unit_test(refuses_what_does_not_fit),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
