#include "test_modules.h"

htone_module* make_linear(htone_device* device, int64_t in_features, int64_t out_features, int32_t bias) {
  htone_linear_options options;
  htone_module* module = NULL;
  assert_ok(htone_linear_options_init(&options));
  options.bias = bias;
  assert_ok(htone_module_create_linear(device, in_features, out_features, &options, &module));
  return keep_module(module);
}

htone_module* make_sequential(size_t count, htone_module* const* modules) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_sequential(count, modules, &module));
  return keep_module(module);
}

htone_tensor* forward(htone_module* module, htone_tensor* input) {
  htone_tensor* out = NULL;
  assert_ok(htone_module_forward(module, input, NULL, &out));
  return keep_tensor(out);
}

htone_tensor* forward_several(htone_module* module, size_t count, htone_tensor* const* inputs) {
  htone_tensor* out = NULL;
  assert_ok(htone_module_forward_n(module, count, inputs, NULL, 1, &out));
  return keep_tensor(out);
}

void fill_parameters(htone_module* module) {
  size_t count = 0;
  assert_ok(htone_module_parameter_count(module, &count));
  for (size_t i = 0; i < count; ++i) assert_ok(htone_init_normal(weights_of(module, i), 0, 0.5));
}

htone_parameter* parameter_of(htone_module* module, size_t index) {
  htone_parameter* parameter = NULL;
  assert_ok(htone_module_parameter(module, index, &parameter));
  return keep_parameter(parameter);
}

htone_tensor* weights_of(htone_module* module, size_t index) {
  htone_tensor* out = NULL;
  assert_ok(htone_parameter_tensor(parameter_of(module, index), &out));
  return keep_tensor(out);
}

htone_tensor* read_parameter(htone_module* module, size_t index, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_parameter_read(parameter_of(module, index), dtype, &out));
  return keep_tensor(out);
}

htone_state_dict* state_dict_of(htone_module* module) {
  htone_state_dict* state_dict = NULL;
  assert_ok(htone_module_state_dict(module, &state_dict));
  return keep_state_dict(state_dict);
}

htone_parameters* parameters_of_module(htone_module* module) {
  htone_parameters* out = NULL;
  assert_ok(htone_parameters_create_from_module(module, &out));
  return keep_parameters(out);
}

htone_parameters* parameters_matching(htone_module* module, const char* pattern) {
  htone_parameters* out = NULL;
  assert_ok(htone_parameters_select(parameters_of_module(module), pattern, &out));
  return keep_parameters(out);
}
