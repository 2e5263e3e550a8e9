/* Parts of modules that are replaced, removed and added late: names, values, what keeps the part that was there, and
 * what is refused. */
#include <string.h>

#include "test_optimizers.h"

static htone_status keep_input(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)user;
  call->out_tensors[0] = call->inputs[0];
  return htone_tensor_retain(call->inputs[0]);
}

static htone_module* make_custom(void) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(keep_input, NULL, NULL, NULL, &module));
  return keep_module(module);
}

static htone_module* make_relu(void) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_relu(&module));
  return keep_module(module);
}

static void expect_names(htone_module* module, size_t count, const char* const* names) {
  size_t found = 0, length = 0;
  assert_ok(htone_module_parameter_count(module, &found));
  assert_int_equal(found, count);
  for (size_t i = 0; i < count; ++i) {
    char name[32];
    assert_ok(htone_module_parameter_name(module, i, name, sizeof name, &length));
    assert_string_equal(name, names[i]);
  }
}

static void set_weight(htone_module* linear, double value) {
  assert_ok(htone_tensor_fill(weights_of(linear, 0), value));
}

static void a_replaced_child_has_the_place_and_the_name_of_the_one_before(void** state) {
  (void)state;
  static const char* const names[] = {"0.weight", "1.weight", "2.weight"};
  htone_module* layers[3];
  for (int i = 0; i < 3; ++i) set_weight(layers[i] = make_linear(test_device(), 1, 1, 0), i + 2);
  htone_module* model = make_sequential(3, layers);
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){1}, 2, 1, 1);
  assert_values(forward(model, x), 0, 24);
  htone_module* other = make_linear(test_device(), 1, 1, 0);
  set_weight(other, 10);
  assert_ok(htone_module_replace_child(model, "1", other));
  expect_names(model, 3, names);
  assert_values(forward(model, x), 0, 80);
  assert_ok(htone_module_remove(model, "0"));
  expect_names(model, 2, names);
  assert_values(forward(model, x), 0, 40);
  assert_ok(htone_module_add_child(model, "2", layers[0]));
  expect_names(model, 3, names);
  assert_values(forward(model, x), 0, 80);
}

static void an_optimizer_keeps_the_parameters_of_a_child_that_was_replaced(void** state) {
  (void)state;
  htone_module *before = make_linear(test_device(), 1, 1, 0), *after = make_linear(test_device(), 1, 1, 0);
  set_weight(before, 1);
  set_weight(after, 1);
  htone_module* model = make_custom();
  assert_ok(htone_module_add_child(model, "fc", before));
  htone_optimizer* optimizer = make_sgd(model, 1);
  assert_ok(htone_module_replace_child(model, "fc", after));
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){3}, 2, 1, 1);
  backward(sum_of(forward(before, x)));
  backward(sum_of(forward(after, x)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_values(weights_of(before, 0), 0, -2);
  assert_values(weights_of(model, 0), 0, 1);
}

static void modes_and_frozen_parameters_stay_with_a_module(void** state) {
  (void)state;
  int32_t training = -1, frozen = -1;
  htone_module *child = make_linear(test_device(), 1, 1, 0), *model = make_custom();
  assert_ok(htone_module_add_child(model, "fc", make_relu()));
  assert_ok(htone_module_set_training(model, 0));
  assert_ok(htone_parameter_set_frozen(parameter_of(child, 0), 1));
  assert_ok(htone_module_replace_child(model, "fc", child));
  assert_ok(htone_module_is_training(child, &training));
  assert_ok(htone_parameter_is_frozen(parameter_of(model, 0), &frozen));
  assert_int_equal(training, 1);
  assert_int_equal(frozen, 1);
}

static void parameters_and_buffers_of_a_custom_module_are_replaced_and_removed(void** state) {
  (void)state;
  static const char* const names[] = {"scale"};
  htone_tensor* seen = NULL;
  size_t count = 0;
  htone_module *model = make_custom(), *one = make_linear(test_device(), 1, 1, 0),
               *other = make_linear(test_device(), 2, 3, 0);
  assert_ok(htone_module_add_parameter(model, "scale", parameter_of(one, 0)));
  assert_ok(htone_module_add_buffer(model, "seen", make_scalar(HTONE_F32, 1)));
  assert_ok(htone_module_replace_parameter(model, "scale", parameter_of(other, 0)));
  assert_ok(htone_module_replace_buffer(model, "seen", make_tensor(HTONE_F32, (const double[]){5, 6}, 1, 2)));
  expect_names(model, 1, names);
  assert_int_equal(numel_of(weights_of(model, 0)), 6);
  assert_ok(htone_module_buffer(model, 0, &seen));
  assert_values(keep_tensor(seen), 0, 5, 6);
  assert_ok(htone_module_remove(model, "scale"));
  assert_ok(htone_module_remove(model, "seen"));
  expect_names(model, 0, NULL);
  assert_ok(htone_module_buffer_count(model, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_module_add_child(model, "scale", one));
}

/* The weight of an embedding as that of the last layer: one parameter, two names, one gradient. */
static void a_layer_reads_the_parameter_that_replaces_its_own(void** state) {
  (void)state;
  htone_module *first = make_linear(test_device(), 1, 1, 0), *second = make_linear(test_device(), 1, 1, 0);
  set_weight(first, 3);
  set_weight(second, 5);
  assert_ok(htone_module_replace_parameter(second, "weight", parameter_of(first, 0)));
  htone_module* model = make_sequential(2, (htone_module*[]){first, second});
  htone_tensor* out = forward(model, make_tensor(HTONE_F32, (const double[]){2}, 2, 1, 1));
  assert_values(out, 0, 18);
  backward(sum_of(out));
  assert_values(grad_of(weights_of(first, 0)), 0, 12);
  assert_fails(htone_module_replace_parameter(second, "bias", parameter_of(first, 0)), HTONE_ERROR_INVALID_ARGUMENT,
               "no parameter");
  assert_fails(htone_module_replace_parameter(model, "0.weight", parameter_of(first, 0)), HTONE_ERROR_INVALID_ARGUMENT,
               "no parameter");
  htone_module* wide = make_linear(test_device(), 2, 1, 0);
  assert_fails(htone_module_replace_parameter(wide, "weight", parameter_of(first, 0)), HTONE_ERROR_SHAPE_MISMATCH,
               "parameter [1, 1], expected [1, 2]");
}

static void a_sequential_module_takes_the_next_number_and_not_itself(void** state) {
  (void)state;
  htone_module *relu = make_relu(), *model = make_sequential(1, &relu), *named = NULL, *layer = NULL;
  const char* const names[] = {"first"};
  assert_fails(htone_module_add_child(model, "2", relu), HTONE_ERROR_INVALID_ARGUMENT, "expected \"1\"");
  assert_fails(htone_module_add_child(model, "fc", relu), HTONE_ERROR_INVALID_ARGUMENT, "expected \"1\"");
  assert_fails(htone_module_add_child(model, "1", model), HTONE_ERROR_INVALID_ARGUMENT, "child");
  assert_fails(htone_module_replace_child(model, "0", model), HTONE_ERROR_INVALID_ARGUMENT, "child");
  assert_fails(htone_module_replace_child(model, "1", relu), HTONE_ERROR_INVALID_ARGUMENT, "no child");
  assert_ok(htone_module_create_named_sequential(1, names, &relu, &named));
  keep_module(named);
  assert_fails(htone_module_add_child(named, "first", relu), HTONE_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(htone_module_add_child(named, "a.b", relu), HTONE_ERROR_INVALID_ARGUMENT, "dot");
  assert_ok(htone_module_add_child(named, "second", relu));
  assert_ok(htone_module_find(named, "second", &layer));
  keep_module(layer);
  assert_fails(htone_module_remove(layer, "0"), HTONE_ERROR_STATE, "relu");
  assert_fails(htone_module_replace_buffer(named, "seen", make_scalar(HTONE_F32, 0)), HTONE_ERROR_STATE, "custom");
}

/* A row of 64 levels has no room for one more, until a child makes it shallow again. */
static void the_depth_of_a_module_falls_with_its_children(void** state) {
  (void)state;
  htone_module *deep = make_relu(), *flat = make_relu();
  for (int level = 1; level < 64; ++level) deep = make_sequential(1, &deep);
  htone_module* out = NULL;
  assert_fails(htone_module_create_sequential(1, &deep, &out), HTONE_ERROR_INVALID_ARGUMENT, "64");
  assert_ok(htone_module_replace_child(deep, "0", flat));
  make_sequential(1, &deep);
  forward(deep, make_scalar(HTONE_F32, 1));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_replaced_child_has_the_place_and_the_name_of_the_one_before),
      cmocka_unit_test(an_optimizer_keeps_the_parameters_of_a_child_that_was_replaced),
      cmocka_unit_test(modes_and_frozen_parameters_stay_with_a_module),
      cmocka_unit_test(parameters_and_buffers_of_a_custom_module_are_replaced_and_removed),
      cmocka_unit_test(a_layer_reads_the_parameter_that_replaces_its_own),
      cmocka_unit_test(a_sequential_module_takes_the_next_number_and_not_itself),
      cmocka_unit_test(the_depth_of_a_module_falls_with_its_children),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
