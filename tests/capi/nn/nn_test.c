/* Modules: options, names that do not fit, forward values, composition; random fills of tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

static void assert_uniform(htone_tensor* tensor, double bound) {
  const int64_t count = numel_of(tensor);
  double *values = values_of(tensor), largest = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = fmax(largest, fabs(values[i]));
    sum += values[i];
  }
  free(values);
  assert_true(largest <= bound);
  assert_true(largest > 0.8 * bound);
  assert_true(fabs(sum / (double)count) < 4 * bound / sqrt(3 * (double)count)); /* 4 standard errors */
}

static void linear_options_choose_bias_and_dtype(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_F64, HTONE_F16, HTONE_BF16};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_linear_options options;
    htone_module* module = NULL;
    size_t count = 0;
    assert_ok(htone_linear_options_init(&options));
    assert_int_equal(options.bias, 1);
    assert_int_equal(options.dtype, HTONE_F32);
    options.dtype = dtypes[i];
    options.bias = 0;
    assert_ok(htone_module_create_linear(test_device(), 3, 2, &options, &module));
    keep_module(module);
    assert_ok(htone_module_parameter_count(module, &count));
    assert_int_equal(count, 1);
    assert_int_equal(dtype_of(weights_of(module, 0)), dtypes[i]);
    assert_int_equal(dtype_of(forward(module, make_ramp(dtypes[i], 2, 4, 3))), dtypes[i]);
  }
}

static htone_module* make_nested(void) {
  htone_module* relu = NULL;
  assert_ok(htone_module_create_relu(&relu));
  keep_module(relu);
  htone_module* inner[] = {make_linear(test_device(), 4, 5, 1), relu};
  htone_module* outer[] = {relu, make_sequential(2, inner), make_linear(test_device(), 5, 2, 0)};
  return make_sequential(3, outer);
}

static void a_name_that_does_not_fit_still_ends(void** state) {
  (void)state;
  htone_module* module = make_nested();
  char name[8];
  size_t length = 0;
  for (size_t capacity = 1; capacity < 8; ++capacity) {
    memset(name, '#', sizeof name);
    assert_fails(htone_module_parameter_name(module, 0, name, capacity, &length), HTONE_ERROR_BUFFER_TOO_SMALL,
                 "capacity");
    assert_int_equal(length, 10);
    assert_non_null(memchr(name, 0, capacity));
    if (capacity < sizeof name) assert_int_equal(name[capacity], '#');
  }
  char exact[12];
  memset(exact, '#', sizeof exact);
  assert_ok(htone_module_parameter_name(module, 0, exact, 11, &length));
  assert_string_equal(exact, "1.0.weight");
  assert_int_equal(exact[11], '#');
  assert_fails(htone_module_parameter_name(module, 3, name, sizeof name, &length), HTONE_ERROR_INVALID_ARGUMENT,
               "index");
}

static void set_ramp(htone_module* module, size_t index) {
  htone_tensor* weights = weights_of(module, index);
  double values[64];
  for (int i = 0; i < 64; ++i) values[i] = i;
  assert_ok(htone_tensor_write(weights, HTONE_F64, values, (size_t)numel_of(weights) * sizeof *values));
}

static void forward_applies_the_layers_in_order(void** state) {
  (void)state;
  htone_module *flatten = NULL, *rescaling = NULL, *linear = make_linear(test_device(), 4, 2, 1), *relu = NULL;
  assert_ok(htone_module_create_flatten(&flatten));
  assert_ok(htone_module_create_rescaling(0.5, -1, &rescaling));
  assert_ok(htone_module_create_relu(&relu));
  htone_module* layers[] = {keep_module(rescaling), keep_module(flatten), linear, keep_module(relu)};
  htone_module* module = make_sequential(4, layers);
  set_ramp(module, 0); /* 0 1 2 3; 4 5 6 7 */
  set_ramp(module, 1); /* 0 1 */
  htone_tensor* input = make_tensor(HTONE_U8, (const double[]){2, 4, 6, 8, 0, 0, 0, 0}, 3, 2, 2, 2);
  htone_tensor* out = forward(module, input); /* rows after rescaling: 0 1 2 3; -1 -1 -1 -1 */
  assert_shape(out, 2, 2);
  assert_int_equal(dtype_of(out), HTONE_F32);
  assert_values(out, 0, 14, 39, 0, 0);
}

static void gelu_modules_have_both_forms(void** state) {
  (void)state;
  static const double expected[] = {0.8413447460685429, 0.8411919906082768};
  for (htone_gelu_form form = HTONE_GELU_ERF; form <= HTONE_GELU_TANH; ++form) {
    htone_module* module = NULL;
    assert_ok(htone_module_create_gelu(form, &module));
    keep_module(module);
    assert_values(forward(module, make_tensor(HTONE_F32, (const double[]){1}, 1, 1)), 1e-6, expected[form]);
  }
}

static void smooth_activations_are_modules(void** state) {
  (void)state;
  static htone_status (*const create[])(htone_module**) = {htone_module_create_silu, htone_module_create_sigmoid,
                                                           htone_module_create_tanh};
  static const double expected[] = {0.7310585786300049, 0.7310585786300049, 0.7615941559557649};
  for (size_t i = 0; i < COUNT_OF(create); ++i) {
    htone_module* module = NULL;
    assert_ok(create[i](&module));
    keep_module(module);
    assert_values(forward(module, make_tensor(HTONE_F32, (const double[]){1}, 1, 1)), 1e-6, expected[i]);
  }
}

static void flatten_merges_what_follows_the_first_dimension(void** state) {
  (void)state;
  htone_module* flatten = NULL;
  assert_ok(htone_module_create_flatten(&flatten));
  keep_module(flatten);
  assert_shape(forward(flatten, make_ramp(HTONE_U8, 4, 2, 3, 1, 4)), 2, 12);
  assert_shape(forward(flatten, make_ramp(HTONE_F32, 2, 2, 3)), 2, 3);
  assert_shape(forward(flatten, make_ramp(HTONE_F32, 3, 0, 2, 3)), 0, 6);
}

static void an_empty_sequence_answers_its_input(void** state) {
  (void)state;
  htone_module* module = make_sequential(0, NULL);
  assert_values(forward(module, make_ramp(HTONE_I32, 1, 3)), 0, 0, 1, 2);
}

static void a_sequence_keeps_its_modules(void** state) {
  (void)state;
  htone_module *linear = NULL, *module = NULL;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &linear));
  assert_ok(htone_module_create_sequential(1, &linear, &module));
  assert_ok(htone_module_release(linear));
  assert_shape(forward(keep_module(module), make_ramp(HTONE_F32, 2, 3, 2)), 3, 2);
}

static void a_parameter_is_read_in_any_float(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  assert_ok(htone_tensor_write(weights_of(module, 0), HTONE_F64, (const double[]){1.00390625, 3}, 2 * sizeof(double)));
  assert_values(read_parameter(module, 0, HTONE_F32), 0, 1.00390625, 3);
  assert_values(read_parameter(module, 0, HTONE_F64), 0, 1.00390625, 3);
  assert_values(read_parameter(module, 0, HTONE_BF16), 0, 1, 3);
  assert_int_equal(dtype_of(read_parameter(module, 0, HTONE_F16)), HTONE_F16);
  assert_int_equal(requires_grad(read_parameter(module, 0, HTONE_F32)), 0);
  assert_refuses(htone_parameter_read(parameter_of(module, 0), HTONE_I32, &out), INVALID_ARGUMENT, "dtype");
}

static htone_tensor* filled(htone_device* device, int64_t count, htone_dtype dtype) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create(device, dtype, 1, &count, &tensor));
  return keep_tensor(tensor);
}

static void random_numbers_have_the_asked_moments(void** state) {
  (void)state;
  const int64_t count = 100000;
  htone_tensor* tensor = filled(test_device(), count, HTONE_F32);
  assert_ok(htone_init_normal(tensor, 2, 3));
  double *values = values_of(tensor), sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += values[i] - 2;
    squares += (values[i] - 2) * (values[i] - 2);
  }
  free(values);
  assert_near(sum / count, 0, 5 * 3 / sqrt(count));
  assert_near(sqrt(squares / count), 3, 5 * 3 / sqrt(2.0 * count));
  assert_ok(htone_init_normal(tensor, 1.5, 0));
  assert_near(item_of(sum_of(tensor)), 1.5 * count, 0);
  assert_ok(htone_init_uniform(tensor, -0.5, 0.5));
  assert_uniform(tensor, 0.5);
}

static void random_fills_refuse_what_they_cannot_draw(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 3);
  assert_fails(htone_init_uniform(tensor, 1, 1), HTONE_ERROR_INVALID_ARGUMENT, "low");
  assert_fails(htone_init_uniform(tensor, 2, 1), HTONE_ERROR_INVALID_ARGUMENT, "low");
  assert_fails(htone_init_uniform(make_ramp(HTONE_I32, 1, 3), 0, 1), HTONE_ERROR_DTYPE_MISMATCH, "tensor");
  assert_fails(htone_init_normal(make_ramp(HTONE_F8E5M2, 1, 3), 0, 1), HTONE_ERROR_DTYPE_MISMATCH, "tensor");
  assert_values(tensor, 0, 0, 1, 2);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_options_choose_bias_and_dtype),
      cmocka_unit_test(a_name_that_does_not_fit_still_ends),
      cmocka_unit_test(forward_applies_the_layers_in_order),
      cmocka_unit_test(gelu_modules_have_both_forms),
      cmocka_unit_test(smooth_activations_are_modules),
      cmocka_unit_test(flatten_merges_what_follows_the_first_dimension),
      cmocka_unit_test(an_empty_sequence_answers_its_input),
      cmocka_unit_test(a_sequence_keeps_its_modules),
      cmocka_unit_test(a_parameter_is_read_in_any_float),
      cmocka_unit_test(random_numbers_have_the_asked_moments),
      cmocka_unit_test(random_fills_refuse_what_they_cannot_draw),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
