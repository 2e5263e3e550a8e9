/* Sets of parameters: their members, names and order. */
#include <string.h>

#include "test_modules.h"

static htone_parameters* selected(htone_parameters* parameters, const char* pattern) {
  htone_parameters* out = NULL;
  assert_ok(htone_parameters_select(parameters, pattern, &out));
  return keep_parameters(out);
}

static htone_parameters* excluded(htone_parameters* parameters, const char* pattern) {
  htone_parameters* out = NULL;
  assert_ok(htone_parameters_exclude(parameters, pattern, &out));
  return keep_parameters(out);
}

/* `names` are separated by spaces. */
static void assert_names(htone_parameters* parameters, const char* names) {
  char actual[256] = "", name[32];
  size_t count = 0, length = 0;
  assert_ok(htone_parameters_count(parameters, &count));
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_parameters_name(parameters, i, name, sizeof name, &length));
    assert_int_equal(length, strlen(name));
    if (i > 0) strcat(actual, " ");
    strcat(actual, name);
  }
  assert_string_equal(actual, names);
}

static htone_module* two_layers(void) {
  htone_module* parts[] = {make_linear(test_device(), 2, 3, 1), make_linear(test_device(), 3, 1, 1)};
  return make_sequential(2, parts);
}

static void a_modules_set_has_its_parameters_in_order_with_their_names(void** state) {
  (void)state;
  htone_module* module = two_layers();
  htone_parameters* all = parameters_of_module(module);
  assert_names(all, "0.weight 0.bias 1.weight 1.bias");
  htone_parameter* third = NULL;
  assert_ok(htone_parameters_at(all, 2, &third));
  htone_tensor* weights = NULL;
  assert_ok(htone_parameter_tensor(keep_parameter(third), &weights));
  assert_ok(htone_tensor_fill(keep_tensor(weights), 7)); /* shares memory with the module's parameter */
  assert_near(item_of(sum_of(weights_of(module, 2))), 21, 0);
}

static void a_parameter_that_stands_twice_in_a_module_is_once_in_its_set(void** state) {
  (void)state;
  htone_module* layer = make_linear(test_device(), 2, 2, 0);
  htone_module* parts[] = {layer, layer};
  assert_names(parameters_of_module(make_sequential(2, parts)), "0.weight");
}

static void a_module_without_parameters_has_an_empty_set(void** state) {
  (void)state;
  htone_module* relu = NULL;
  assert_ok(htone_module_create_relu(&relu));
  assert_names(parameters_of_module(keep_module(relu)), "");
}

static void patterns_part_a_set_in_two(void** state) {
  (void)state;
  htone_parameters* all = parameters_of_module(two_layers());
  assert_names(selected(all, "*.bias"), "0.bias 1.bias");
  assert_names(excluded(all, "*.bias"), "0.weight 1.weight");
  assert_names(selected(all, "1.*"), "1.weight 1.bias");
  assert_names(selected(all, "?.w*"), "0.weight 1.weight");
  assert_names(selected(all, "bias"), "");
  assert_names(excluded(all, "bias"), "0.weight 0.bias 1.weight 1.bias");
  assert_names(selected(excluded(all, "0.*"), "*.bias"), "1.bias");
  assert_names(all, "0.weight 0.bias 1.weight 1.bias"); /* sets that were copied into it stay unchanged */
}

static void a_set_grows_by_one_parameter_at_a_time_under_its_own_name(void** state) {
  (void)state;
  htone_module* module = two_layers();
  htone_parameters* set = NULL;
  assert_ok(htone_parameters_create(&set));
  keep_parameters(set);
  assert_names(set, "");
  assert_ok(htone_parameters_add(set, parameter_of(module, 1)));
  assert_ok(htone_parameters_add(set, parameter_of(module, 0)));
  assert_ok(htone_parameters_add(set, parameter_of(module, 2))); /* another parameter of the same name */
  assert_names(set, "bias weight weight");
  assert_fails(htone_parameters_add(set, parameter_of(module, 0)), HTONE_ERROR_STATE, "weight");
  assert_names(set, "bias weight weight");
}

static void a_set_keeps_its_parameters_alive(void** state) {
  (void)state;
  htone_module* module = NULL;
  htone_parameters* set = NULL;
  htone_parameter* parameter = NULL;
  htone_tensor* weights = NULL;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &module));
  assert_ok(htone_parameters_create_from_module(module, &set));
  assert_ok(htone_module_release(module));
  assert_ok(htone_parameters_at(set, 0, &parameter));
  assert_ok(htone_parameters_release(set));
  assert_ok(htone_parameter_tensor(keep_parameter(parameter), &weights));
  assert_ok(htone_tensor_fill(keep_tensor(weights), 1));
  assert_near(item_of(sum_of(weights)), 4, 0);
}

static void a_tensor_of_a_parameter_is_the_callers_to_change(void** state) {
  (void)state;
  htone_module* linear = make_linear(test_device(), 2, 1, 0);
  htone_tensor *given = weights_of(linear, 0), *read = NULL;
  int32_t requires_grad = -1;
  assert_ok(htone_parameter_read(parameter_of(linear, 0), HTONE_F32, &read));
  assert_ok(htone_tensor_set_requires_grad(keep_tensor(read), 1));
  assert_ok(htone_tensor_set_requires_grad(given, 0));
  htone_tensor* loss = sum_of(forward(linear, make_ramp(HTONE_F32, 2, 1, 2)));
  assert_ok(htone_tensor_requires_grad(loss, &requires_grad));
  assert_int_equal(requires_grad, 1);
  backward(loss);
  assert_values(grad_of(weights_of(linear, 0)), 0, 0, 1);
  assert_ok(htone_parameter_set_frozen(parameter_of(linear, 0), 1));
  assert_ok(htone_tensor_set_requires_grad(weights_of(linear, 0), 1));
  assert_ok(htone_tensor_requires_grad(forward(linear, make_ramp(HTONE_F32, 2, 1, 2)), &requires_grad));
  assert_int_equal(requires_grad, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_modules_set_has_its_parameters_in_order_with_their_names),
      cmocka_unit_test(a_parameter_that_stands_twice_in_a_module_is_once_in_its_set),
      cmocka_unit_test(a_module_without_parameters_has_an_empty_set),
      cmocka_unit_test(patterns_part_a_set_in_two),
      cmocka_unit_test(a_set_grows_by_one_parameter_at_a_time_under_its_own_name),
      cmocka_unit_test(a_set_keeps_its_parameters_alive),
      cmocka_unit_test(a_tensor_of_a_parameter_is_the_callers_to_change),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
