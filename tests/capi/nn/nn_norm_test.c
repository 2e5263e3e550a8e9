/* Normalisation layers: parameters and buffers by name, modes, running statistics. */
#include <math.h>
#include <string.h>

#include "test_optimizers.h"

static htone_tensor* buffer_of(htone_module* module, size_t index) {
  htone_tensor* buffer = NULL;
  assert_ok(htone_module_buffer(module, index, &buffer));
  return keep_tensor(buffer);
}

static htone_module* make_batch_norm1d(int64_t channels, const htone_batch_norm_options* options) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_batch_norm1d(test_device(), channels, options, &module));
  return keep_module(module);
}

static void assert_parameter_names(htone_module* module, const char* expected) {
  char names[128] = "", name[32];
  size_t count = 0, length = 0;
  assert_ok(htone_module_parameter_count(module, &count));
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_module_parameter_name(module, i, name, sizeof name, &length));
    strcat(strcat(names, name), " ");
  }
  assert_string_equal(names, expected);
}

static void layers_have_pytorchs_parameters(void** state) {
  (void)state;
  const int64_t shape[] = {3, 4};
  htone_norm_options options;
  htone_module *layer = NULL, *rms = NULL, *group = NULL, *plain = NULL;
  assert_ok(htone_norm_options_init(&options));
  assert_ok(htone_module_create_layer_norm(test_device(), 2, shape, NULL, &layer));
  assert_ok(htone_module_create_rms_norm(test_device(), 2, shape, NULL, &rms));
  options.dtype = HTONE_BF16;
  options.bias = 0;
  assert_ok(htone_module_create_group_norm(test_device(), 2, 4, &options, &group));
  options.affine = 0;
  options.bias = 1;
  assert_ok(htone_module_create_layer_norm(test_device(), 2, shape, &options, &plain));
  assert_parameter_names(keep_module(layer), "weight bias ");
  assert_parameter_names(keep_module(rms), "weight ");
  assert_parameter_names(keep_module(group), "weight ");
  assert_parameter_names(keep_module(plain), "");
  assert_shape(weights_of(layer, 1), 3, 4);
  assert_int_equal(dtype_of(weights_of(group, 0)), HTONE_BF16);
  assert_values(weights_of(group, 0), 0, 1, 1, 1, 1);
  assert_parameter_names(make_batch_norm1d(3, NULL), "weight bias ");
}

static void layers_normalise_with_their_weights(void** state) {
  (void)state;
  const int64_t four[] = {4};
  htone_norm_options options;
  assert_ok(htone_norm_options_init(&options));
  options.epsilon = 0;
  htone_module *layer = NULL, *rms = NULL, *group = NULL;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){1, 1, 5, 5}, 2, 1, 4);
  assert_ok(htone_module_create_layer_norm(test_device(), 1, four, &options, &layer));
  assert_ok(htone_module_create_rms_norm(test_device(), 1, four, &options, &rms));
  assert_ok(htone_module_create_group_norm(test_device(), 1, 4, &options, &group));
  assert_ok(htone_tensor_fill(weights_of(keep_module(layer), 0), 2));
  assert_ok(htone_tensor_fill(weights_of(layer, 1), 10));
  assert_values(forward(layer, input), 1e-5, 8, 8, 12, 12);
  assert_values(forward(keep_module(rms), input), 1e-6, 1 / sqrt(13), 1 / sqrt(13), 5 / sqrt(13), 5 / sqrt(13));
  assert_values(forward(keep_module(group), input), 1e-6, -1, -1, 1, 1);
  assert_refuses(htone_module_forward(group, make_ramp(HTONE_F32, 2, 2, 2), NULL, &out), SHAPE_MISMATCH,
                 "the layer's 4 channels");
}

static void the_instance_norm_layer_normalises_channels(void** state) {
  (void)state;
  htone_norm_options options;
  htone_module *layer = NULL, *plain = NULL;
  htone_tensor* input = make_tensor(HTONE_F64, (const double[]){1, 1, 5, 5, 0, 2, 0, 2}, 3, 1, 2, 4);
  assert_ok(htone_norm_options_init(&options));
  options.epsilon = 0;
  assert_ok(htone_module_create_instance_norm(test_device(), 2, &options, &layer));
  options.affine = 0;
  assert_ok(htone_module_create_instance_norm(test_device(), 2, &options, &plain));
  assert_parameter_names(keep_module(layer), "weight bias ");
  assert_parameter_names(keep_module(plain), "");
  assert_ok(htone_tensor_fill(weights_of(layer, 0), 2));
  assert_values(forward(layer, input), 1e-6, -2, -2, 2, 2, -2, 2, -2, 2);
  assert_values(forward(plain, input), 1e-6, -1, -1, 1, 1, -1, 1, -1, 1);
  assert_refuses(htone_module_forward(layer, make_ramp(HTONE_F32, 3, 2, 3, 2), NULL, &out), SHAPE_MISMATCH,
                 "the layer's 2 channels");
}

/* Means 3 and 2, unbiased variances 16/3 and 16. */
static htone_tensor* make_batch(void) {
  return make_tensor(HTONE_F32, (const double[]){1, 0, 1, 0, 5, 0, 5, 8}, 2, 4, 2);
}

static void batch_norm_keeps_running_statistics_in_training_alone(void** state) {
  (void)state;
  static const char* const names[] = {"running_mean", "running_var", "num_batches_tracked"};
  htone_module* module = make_batch_norm1d(2, NULL);
  size_t count = 0, length = 0;
  char name[32];
  assert_ok(htone_module_buffer_count(module, &count));
  assert_int_equal(count, 3);
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_module_buffer_name(module, i, name, sizeof name, &length));
    assert_string_equal(name, names[i]);
  }
  forward(module, make_batch());
  assert_values(buffer_of(module, 0), 1e-6, 0.3, 0.2);
  assert_values(buffer_of(module, 1), 1e-6, 0.9 + 1.6 / 3, 0.9 + 1.6);
  assert_int_equal(dtype_of(buffer_of(module, 2)), HTONE_I64);
  assert_values(buffer_of(module, 2), 0, 1);
  assert_ok(htone_module_set_training(module, 0));
  htone_tensor* first = slice_of(forward(module, make_batch()), 0, 0, 1, 1);
  assert_values(first, 1e-5, 0.7 / sqrt(0.9 + 1.6 / 3 + 1e-5), -0.2 / sqrt(2.5 + 1e-5));
  assert_values(buffer_of(module, 2), 0, 1);
  assert_refuses(htone_module_buffer(module, 3, &out), INVALID_ARGUMENT, "index=3 is outside [0, 3)");
}

static void cumulative_statistics_are_means_over_all_batches(void** state) {
  (void)state;
  htone_batch_norm_options options;
  assert_ok(htone_batch_norm_options_init(&options));
  options.cumulative = 1;
  htone_module* module = make_batch_norm1d(2, &options);
  htone_tensor* zeros = make_tensor(HTONE_F32, (const double[]){0, 0, 0, 0}, 2, 2, 2);
  forward(module, make_batch());
  assert_values(buffer_of(module, 0), 1e-6, 3, 2);
  forward(module, zeros);
  forward(module, zeros);
  assert_values(buffer_of(module, 0), 1e-6, 1, 2.0 / 3);
  assert_values(buffer_of(module, 1), 1e-5, 16.0 / 9, 16.0 / 3);
  assert_values(buffer_of(module, 2), 0, 3);
}

static void batch_norm_without_running_statistics_uses_the_batch_always(void** state) {
  (void)state;
  htone_batch_norm_options options;
  assert_ok(htone_batch_norm_options_init(&options));
  options.track_running_stats = 0;
  options.affine = 0;
  options.epsilon = 0;
  htone_module* module = make_batch_norm1d(2, &options);
  size_t count = 7;
  assert_ok(htone_module_buffer_count(module, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_module_set_training(module, 0));
  assert_values(slice_of(forward(module, make_batch()), 0, 3, 4, 1), 1e-6, 1, sqrt(3));
}

static void a_failed_forward_leaves_the_running_statistics(void** state) {
  (void)state;
  htone_module *module = make_batch_norm1d(2, NULL), *image = NULL;
  assert_refuses(htone_module_forward(module, make_ramp(HTONE_F32, 2, 1, 2), NULL, &out), SHAPE_MISMATCH,
                 "one element a channel");
  assert_refuses(htone_module_forward(module, make_ramp(HTONE_F32, 2, 4, 3), NULL, &out), SHAPE_MISMATCH,
                 "the layer's 2 channels");
  assert_refuses(htone_module_forward(module, make_ramp(HTONE_F32, 4, 1, 2, 2, 2), NULL, &out), SHAPE_MISMATCH,
                 "has 4 dimensions, expected 2 to 3");
  assert_ok(htone_module_create_batch_norm2d(test_device(), 2, NULL, &image));
  assert_refuses(htone_module_forward(keep_module(image), make_batch(), NULL, &out), SHAPE_MISMATCH,
                 "has 2 dimensions, expected 4 to 4");
  assert_shape(forward(image, make_ramp(HTONE_F32, 4, 1, 2, 2, 2)), 1, 2, 2, 2);
  assert_values(buffer_of(module, 0), 0, 0, 0);
  assert_values(buffer_of(module, 1), 0, 1, 1);
  assert_values(buffer_of(module, 2), 0, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_have_pytorchs_parameters),
      cmocka_unit_test(layers_normalise_with_their_weights),
      cmocka_unit_test(the_instance_norm_layer_normalises_channels),
      cmocka_unit_test(batch_norm_keeps_running_statistics_in_training_alone),
      cmocka_unit_test(cumulative_statistics_are_means_over_all_batches),
      cmocka_unit_test(batch_norm_without_running_statistics_uses_the_batch_always),
      cmocka_unit_test(a_failed_forward_leaves_the_running_statistics),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
