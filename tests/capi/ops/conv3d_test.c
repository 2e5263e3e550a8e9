/* Convolution over three dimensions and its transpose: rounding of gradients, the layers, refusals. */
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

static void the_transposed_layer_has_pytorchs_parameters(void** state) {
  (void)state;
  htone_module* layer = NULL;
  htone_conv3d_options options = default_options();
  options.groups = 2;
  options.stride_d = 2;
  options.output_padding_d = 1;
  assert_ok(htone_module_create_conv_transpose3d(test_device(), 4, 6, 3, 1, 2, &options, &layer));
  keep_module(layer);
  assert_shape(read_parameter(layer, 0, HTONE_F32), 4, 3, 3, 1, 2);
  assert_shape(read_parameter(layer, 1, HTONE_F32), 6);
  assert_shape(forward(layer, make_noise(HTONE_F32, 4, 5, 2, 4, 3, 2, 3)), 2, 6, 8, 2, 4);
  options.stride_d = 1;
  assert_fails(htone_module_create_conv_transpose3d(test_device(), 4, 6, 3, 1, 2, &options, &layer),
               HTONE_ERROR_INVALID_ARGUMENT, "options.output_padding_d=1, expected 0 to 0");
}

static void refuses_what_does_not_fit(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 5, 1, 2, 3, 3, 3), *weight = make_ramp(HTONE_F32, 5, 2, 2, 4, 1, 1);
  assert_refuses(htone_conv3d(input, weight, NULL, NULL, &out), INVALID_ARGUMENT,
                 "weight spans 4 elements 1 apart along d, more than the padded input's 3");
  assert_refuses(htone_conv3d(make_ramp(HTONE_F32, 3, 2, 3, 3), weight, NULL, NULL, &out), SHAPE_MISMATCH,
                 "input [2, 3, 3] has 3 dimensions, expected 5, or 4 for one image");
  assert_refuses(htone_conv3d(make_ramp(HTONE_F32, 5, 1, 3, 4, 3, 3), weight, NULL, NULL, &out), SHAPE_MISMATCH,
                 "input.shape[1]=3");
  assert_refuses(htone_conv3d(input, cast_of(weight, HTONE_F16), NULL, NULL, &out), DTYPE_MISMATCH, "weight");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_sixteen_bits_are_rounded_once),
      cmocka_unit_test(the_layer_has_pytorchs_parameters),
      cmocka_unit_test(the_transposed_layer_has_pytorchs_parameters),
      cmocka_unit_test(refuses_what_does_not_fit),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
