/* Introspection of a model: kinds, children, paths, parameters by name and the table; and the layer that an error
 * names. */
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

enum { kLayers = 12, kCapacity = 4096 };

static const char* const kNames[kLayers] = {"fc1", "act1", "fc2", "act2", "fc3",  "act3",
                                            "fc4", "act4", "fc5", "act5", "norm", "head"};

static htone_module* layer(const char* name, int64_t inputs) {
  htone_module* module = NULL;
  const int64_t width = 4;
  if (name[0] == 'a') {
    assert_ok(htone_module_create_gelu(HTONE_GELU_TANH, &module));
  } else if (name[0] == 'n') {
    assert_ok(htone_module_create_layer_norm(test_device(), 1, &width, NULL, &module));
  } else {
    return make_linear(test_device(), inputs, width, 1);
  }
  return keep_module(module);
}

/* Twelve layers by name within another module; layer number `wrong` takes 5 inputs and is given 4. */
static htone_module* make_model(int wrong) {
  htone_module *layers[kLayers], *named = NULL;
  for (int i = 0; i < kLayers; ++i) layers[i] = layer(kNames[i], i == wrong ? 5 : 4);
  assert_ok(htone_module_create_named_sequential(kLayers, kNames, layers, &named));
  return make_sequential(1, (htone_module*[]){keep_module(named)});
}

static htone_module* module_at(htone_module* model, const char* path) {
  htone_module* module = NULL;
  assert_ok(htone_module_find(model, path, &module));
  return keep_module(module);
}

static void expect_kind(htone_module* module, const char* expected) {
  char kind[32];
  size_t length = 0;
  assert_ok(htone_module_kind(module, kind, sizeof kind, &length));
  assert_string_equal(kind, expected);
  assert_int_equal(length, strlen(expected));
}

static void children_are_found_by_index_and_by_path(void** state) {
  (void)state;
  htone_module *model = make_model(-1), *named = NULL, *child = NULL;
  char name[32];
  size_t count = 0, length = 0;
  assert_ok(htone_module_child_count(model, &count));
  assert_int_equal(count, 1);
  assert_ok(htone_module_child(model, 0, &named));
  keep_module(named);
  assert_ok(htone_module_child_count(named, &count));
  assert_int_equal(count, kLayers);
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_module_child_name(named, i, name, sizeof name, &length));
    assert_string_equal(name, kNames[i]);
  }
  assert_ok(htone_module_child_name(model, 0, name, sizeof name, &length));
  assert_string_equal(name, "0");
  expect_kind(model, "sequential");
  expect_kind(module_at(model, ""), "sequential");
  expect_kind(module_at(model, "0.head"), "linear");
  expect_kind(module_at(model, "0.norm"), "layer_norm");
  expect_kind(module_at(named, "act3"), "gelu");
  assert_ok(htone_module_child_count(module_at(named, "act3"), &count));
  assert_int_equal(count, 0);
  for (size_t i = 0; i < 4; ++i) {
    const char* const wrong[] = {"1", "0.fc6", "0.fc1.weight", "0."};
    assert_fails(htone_module_find(model, wrong[i], &child), HTONE_ERROR_INVALID_ARGUMENT, "leads to no module");
  }
}

/* A child is the module itself: what is set there holds in the model. */
static void a_part_runs_by_its_path(void** state) {
  (void)state;
  htone_module *inner[] = {make_linear(test_device(), 3, 2, 1)}, *block[] = {make_sequential(1, inner)};
  htone_module* whole = make_sequential(1, block);
  htone_tensor *input = make_ramp(HTONE_F32, 2, 4, 3), *out = NULL;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  double *expected = values_of(forward(inner[0], input)), *actual = NULL;
  assert_ok(htone_module_forward_child(whole, "0.0", input, &out));
  actual = values_of(keep_tensor(out));
  assert_memory_equal(actual, expected, 8 * sizeof *actual);
  free(actual);
  free(expected);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  assert_ok(htone_module_forward_child(whole, "0", input, &out));
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_BF16);
  out = NULL;
  assert_fails(htone_module_forward_child(whole, "0.1", input, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "path=\"0.1\" leads to no module");
  assert_fails(htone_module_forward_child(whole, "0.0", make_ramp(HTONE_F32, 2, 4, 5), &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input [4, 5] does not end in weight.shape[1]=3");
  assert_null(out);
}

static void a_found_child_is_no_copy(void** state) {
  (void)state;
  htone_module* model = make_model(-1);
  int32_t training = -1;
  assert_ok(htone_module_set_training(module_at(model, "0.norm"), 0));
  assert_ok(htone_module_is_training(module_at(model, "0.norm"), &training));
  assert_int_equal(training, 0);
  assert_ok(htone_module_is_training(model, &training));
  assert_int_equal(training, 1);
  assert_ok(htone_module_set_training(model, 7));
  assert_ok(htone_module_is_training(module_at(model, "0.norm"), &training));
  assert_int_equal(training, 1);
}

static void parameters_are_found_by_name_and_describe_themselves(void** state) {
  (void)state;
  htone_module* model = make_model(-1);
  htone_parameter *parameter = NULL, *none = NULL;
  htone_tensor* gradient = NULL;
  int64_t shape[HTONE_MAX_NDIM];
  int32_t ndim = 0;
  htone_dtype dtype = 0;
  char name[16];
  size_t length = 0;
  const double ones[] = {1, 1, 1, 1};
  assert_ok(htone_module_find_parameter(model, "0.fc2.weight", &parameter));
  keep_parameter(parameter);
  assert_ok(htone_parameter_name(parameter, name, sizeof name, &length));
  assert_string_equal(name, "weight");
  assert_ok(htone_parameter_shape(parameter, shape, HTONE_MAX_NDIM, &ndim));
  assert_true(ndim == 2 && shape[0] == 4 && shape[1] == 4);
  assert_ok(htone_parameter_dtype(parameter, &dtype));
  assert_int_equal(dtype, HTONE_F32);
  assert_fails(htone_parameter_grad(parameter, &gradient), HTONE_ERROR_STATE, "weight has no gradient");
  backward(sum_of(forward(model, make_tensor(HTONE_F32, ones, 2, 1, 4))));
  assert_ok(htone_parameter_grad(parameter, &gradient));
  assert_int_equal(dtype_of(keep_tensor(gradient)), HTONE_F32);
  assert_fails(htone_module_find_parameter(model, "0.fc2.scale", &none), HTONE_ERROR_INVALID_ARGUMENT, "0.fc2.scale");
}

/* The seventh layer, in a module inside another one, is told by its path and kind. */
static void an_error_names_the_layer_by_path_and_kind(void** state) {
  (void)state;
  const double ones[] = {1, 1, 1, 1};
  htone_tensor* input = make_tensor(HTONE_F32, ones, 2, 1, 4);
  assert_refuses(htone_module_forward(make_model(6), input, NULL, &out), SHAPE_MISMATCH,
                 "htone_module_forward: layer 0.fc4 (linear): input [1, 4] does not end in weight.shape[1]=5");
  /* A layer that is called itself has no path. */
  assert_refuses(htone_module_forward(make_linear(test_device(), 5, 2, 1), input, NULL, &out), SHAPE_MISMATCH,
                 "htone_module_forward: input [1, 4]");
}

static htone_status forward_child(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module;
  return htone_module_forward(user, input, NULL, out);
}

/* The path goes on through a module whose forward is a callback; the caller's error is that of the callback. */
static void a_layer_inside_a_callback_has_its_whole_path(void** state) {
  (void)state;
  const double ones[] = {1, 1, 1, 1};
  htone_module *linear = make_linear(test_device(), 5, 2, 1), *custom = NULL;
  assert_ok(htone_module_create_custom(forward_child, linear, NULL, NULL, &custom));
  keep_module(custom);
  assert_ok(htone_module_add_child(custom, "inner", linear));
  assert_refuses(htone_module_forward(make_sequential(1, &custom), make_tensor(HTONE_F32, ones, 2, 1, 4), NULL, &out),
                 CALLBACK, "0.inner (linear)");
}

static void the_table_lists_layers_and_counts_what_is_shared_once(void** state) {
  (void)state;
  static const char* const kNamesOfThree[] = {"in", "act", "out"};
  static const char kExpected[] =
      "layer    kind        parameters                       elements  bytes\n"
      "(model)  sequential\n"
      "0        sequential\n"
      "0.in     linear      weight f32 [4, 3], bias f32 [4]        16     64\n"
      "0.act    gelu\n"
      "0.out    linear      weight f32 [2, 4], bias f32 [2]        10     40\n"
      "1        gelu\n"
      "2        sequential\n"
      "2.in     linear      weight f32 [4, 3], bias f32 [4]        16     64\n"
      "2.act    gelu\n"
      "2.out    linear      weight f32 [2, 4], bias f32 [2]        10     40\n"
      "26 parameters, 10 of them trainable; 104 bytes\n";
  htone_module *in = make_linear(test_device(), 3, 4, 1), *act = layer("act", 4);
  htone_module *named = NULL, *parts[] = {in, act, make_linear(test_device(), 4, 2, 1)};
  char text[kCapacity], little[8];
  size_t length = 0;
  assert_ok(htone_module_create_named_sequential(3, kNamesOfThree, parts, &named));
  keep_module(named);
  for (size_t i = 0; i < 2; ++i) assert_ok(htone_parameter_set_frozen(parameter_of(in, i), 1));
  htone_module* model = make_sequential(3, (htone_module*[]){named, act, named});
  assert_ok(htone_module_summary(model, text, sizeof text, &length));
  assert_string_equal(text, kExpected);
  assert_int_equal(length, strlen(kExpected));
  assert_fails(htone_module_summary(model, little, sizeof little, &length), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity");
  assert_int_equal(length, strlen(kExpected));
}

static void expect_text(htone_tensor* tensor, const char* expected) {
  char text[kCapacity];
  size_t length = 0;
  assert_ok(htone_tensor_format(tensor, text, sizeof text, &length));
  assert_string_equal(text, expected);
}

static void a_tensor_is_written_as_rows(void** state) {
  (void)state;
  const double values[] = {1, -2.5, 3, 4, 5, 6};
  expect_text(make_tensor(HTONE_F32, values, 2, 2, 3),
              "tensor([[ 1.0000, -2.5000,  3.0000],\n        [ 4.0000,  5.0000,  6.0000]], f32)");
  expect_text(make_tensor(HTONE_I64, values, 1, 2), "tensor([ 1, -2], i64)");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(children_are_found_by_index_and_by_path),
      cmocka_unit_test(a_part_runs_by_its_path),
      cmocka_unit_test(a_found_child_is_no_copy),
      cmocka_unit_test(parameters_are_found_by_name_and_describe_themselves),
      cmocka_unit_test(an_error_names_the_layer_by_path_and_kind),
      cmocka_unit_test(a_layer_inside_a_callback_has_its_whole_path),
      cmocka_unit_test(the_table_lists_layers_and_counts_what_is_shared_once),
      cmocka_unit_test(a_tensor_is_written_as_rows),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
