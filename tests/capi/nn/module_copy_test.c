/* Copies of modules: parameters, buffers, modes and ties; hooks and custom modules are not copied. */
#include <stdlib.h>

#include "test_optimizers.h"

static htone_module* copy_of(htone_module* module) {
  htone_module* out = NULL;
  assert_ok(htone_module_copy(module, &out));
  return keep_module(out);
}

static void assert_equal_tensors(htone_tensor* a, htone_tensor* b) {
  double* expected = values_of(b);
  assert_int_equal(dtype_of(a), dtype_of(b));
  check_values(a, 0, expected, (size_t)numel_of(b), __FILE__, __LINE__);
  free(expected);
}

/* Same names, dtypes and values, in memory of their own. */
static void assert_equal_states(htone_module* a, htone_module* b) {
  htone_state_dict *of_a = state_dict_of(a), *of_b = state_dict_of(b);
  size_t count = 0, other_count = 0, length = 0;
  assert_ok(htone_state_dict_count(of_a, &count));
  assert_ok(htone_state_dict_count(of_b, &other_count));
  assert_int_equal(count, other_count);
  for (size_t i = 0; i < count; ++i) {
    char name[64], other_name[64];
    htone_tensor *tensor = NULL, *other = NULL;
    assert_ok(htone_state_dict_name(of_a, i, name, sizeof name, &length));
    assert_ok(htone_state_dict_name(of_b, i, other_name, sizeof other_name, &length));
    assert_string_equal(name, other_name);
    assert_ok(htone_state_dict_tensor(of_a, i, &tensor));
    assert_ok(htone_state_dict_tensor(of_b, i, &other));
    assert_equal_tensors(keep_tensor(tensor), keep_tensor(other));
  }
}

static const char* kind_of(htone_module* module) {
  static char kind[32];
  size_t length = 0;
  assert_ok(htone_module_kind(module, kind, sizeof kind, &length));
  return kind;
}

/* One of each kind of layer, with an input that suits it. */
typedef struct Layer {
  htone_module* module;
  htone_tensor* input;
} Layer;

enum { kLayers = 29 };

static void make_layers(Layer* layers) {
  static const int64_t width[] = {4};
  htone_device* device = test_device();
  htone_tensor* rows = make_noise(HTONE_F32, 1, 2, 3, 4);
  htone_tensor* lines = make_noise(HTONE_F32, 2, 3, 2, 4, 6);
  htone_tensor* images = make_noise(HTONE_F32, 3, 4, 2, 4, 6, 6);
  htone_tensor* places = make_ramp(HTONE_I64, 1, 3);
  htone_tensor* tokens = make_tensor(HTONE_I64, (const double[]){3, 1, 0, 2}, 2, 2, 2);
  htone_transformer_options transformer_options = HTONE_TRANSFORMER_OPTIONS_INIT;
  transformer_options.vocabulary = 4;
  transformer_options.positions = 3;
  transformer_options.layers = 2;
  transformer_options.width = 6;
  transformer_options.heads = 2;
  size_t n = 0;
#define LAYER(tensor, name, ...)                                           \
  do {                                                                     \
    layers[n].input = (tensor);                                            \
    assert_ok(htone_module_create_##name(__VA_ARGS__, &layers[n].module)); \
    keep_module(layers[n++].module);                                       \
  } while (0)
#define PLAIN(tensor, name)                                   \
  do {                                                        \
    layers[n].input = (tensor);                               \
    assert_ok(htone_module_create_##name(&layers[n].module)); \
    keep_module(layers[n++].module);                          \
  } while (0)
  LAYER(rows, linear, device, 4, 3, NULL);
  LAYER(places, embedding, device, 5, 2, NULL);
  LAYER(rows, layer_norm, device, 1, width, NULL);
  LAYER(rows, rms_norm, device, 1, width, NULL);
  LAYER(lines, group_norm, device, 2, 4, NULL);
  LAYER(rows, batch_norm1d, device, 4, NULL);
  LAYER(images, batch_norm2d, device, 4, NULL);
  LAYER(lines, conv1d, device, 4, 2, 3, NULL);
  LAYER(images, conv2d, device, 4, 2, 3, 3, NULL);
  LAYER(lines, conv_transpose1d, device, 4, 2, 3, NULL);
  LAYER(images, conv_transpose2d, device, 4, 2, 3, 3, NULL);
  LAYER(lines, max_pool1d, 2, NULL);
  LAYER(images, max_pool2d, 2, 2, NULL);
  LAYER(lines, avg_pool1d, 2, NULL);
  LAYER(images, avg_pool2d, 2, 2, NULL);
  LAYER(lines, adaptive_avg_pool1d, 2);
  LAYER(images, adaptive_avg_pool2d, 2, 2);
  LAYER(lines, adaptive_max_pool1d, 2);
  LAYER(images, adaptive_max_pool2d, 2, 2);
  LAYER(rows, gelu, HTONE_GELU_TANH);
  PLAIN(rows, relu);
  PLAIN(rows, silu);
  PLAIN(images, flatten);
  LAYER(rows, rescaling, 2, 1);
  LAYER(lines, lstm, device, 6, 3, NULL);
  LAYER(lines, gru, device, 6, 3, NULL);
  LAYER(lines, multihead_attention, device, 6, 2, NULL);
  LAYER(lines, transformer_block, device, &transformer_options);
  LAYER(tokens, transformer, device, &transformer_options);
#undef LAYER
#undef PLAIN
  assert_int_equal(n, kLayers);
}

static void every_layer_is_copied_with_its_settings(void** state) {
  (void)state;
  Layer layers[kLayers];
  make_layers(layers);
  for (size_t i = 0; i < kLayers; ++i) {
    htone_module* copy = copy_of(layers[i].module);
    assert_string_equal(kind_of(copy), kind_of(layers[i].module));
    assert_equal_states(copy, layers[i].module);
    assert_equal_tensors(forward(copy, layers[i].input), forward(layers[i].module, layers[i].input));
    assert_equal_states(copy, layers[i].module); /* running statistics moved alike */
  }
}

static void the_rest_of_the_layers_is_copied(void** state) {
  (void)state;
  htone_module *layers[3], *dropout = NULL;
  assert_ok(htone_module_create_sigmoid(&layers[0]));
  assert_ok(htone_module_create_tanh(&layers[1]));
  assert_ok(htone_module_create_dropout(1, &dropout));
  keep_module(layers[0]);
  keep_module(layers[1]);
  layers[2] = keep_module(dropout);
  htone_module* copy = copy_of(make_sequential(3, layers));
  assert_values(forward(copy, make_scalar(HTONE_F32, 2)), 0, 0); /* dropped with p = 1 */
  assert_ok(htone_module_set_training(copy, 0));
  assert_near(item_of(forward(copy, make_scalar(HTONE_F32, 0))), 0.46211715726, 1e-6);
}

static void a_copy_is_trained_alone(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 2, 1);
  htone_module *copy = copy_of(module), *expected = copy_of(module);
  htone_optimizer* optimizer = make_sgd(copy, 0.5);
  backward(sum_of(forward(copy, make_ramp(HTONE_F32, 2, 3, 2))));
  assert_ok(htone_optimizer_step(optimizer));
  assert_equal_states(module, expected);
  htone_tensor* grad = NULL;
  assert_fails(htone_tensor_grad(weights_of(module, 0), &grad), HTONE_ERROR_STATE, "no gradient");
  double *moved = values_of(weights_of(copy, 0)), *kept = values_of(weights_of(module, 0));
  assert_memory_not_equal(moved, kept, 4 * sizeof *moved);
  free(moved);
  free(kept);
}

static void names_modes_and_frozen_parameters_are_kept(void** state) {
  (void)state;
  htone_module* layers[] = {make_linear(test_device(), 2, 2, 1), make_linear(test_device(), 2, 2, 0)};
  static const char* const names[] = {"first", "second"};
  htone_module* module = NULL;
  int32_t frozen = 0, training = 1;
  assert_ok(htone_module_create_named_sequential(2, names, layers, &module));
  keep_module(module);
  assert_ok(htone_parameter_set_frozen(parameter_of(module, 1), 1));
  assert_ok(htone_module_set_training(module, 0));
  htone_module* copy = copy_of(module);
  assert_equal_states(copy, module);
  assert_ok(htone_parameter_is_frozen(parameter_of(copy, 1), &frozen));
  assert_int_equal(frozen, 1);
  assert_ok(htone_parameter_is_frozen(parameter_of(copy, 0), &frozen));
  assert_int_equal(frozen, 0);
  assert_ok(htone_module_is_training(copy, &training));
  assert_int_equal(training, 0);
}

static void a_layer_that_is_held_twice_is_one_in_the_copy(void** state) {
  (void)state;
  htone_module* tied = make_linear(test_device(), 2, 2, 0);
  htone_module* layers[] = {tied, tied};
  htone_module* copy = copy_of(make_sequential(2, layers));
  htone_tensor *first = weights_of(copy, 0), *second = weights_of(copy, 1);
  backward(sum_of(forward(copy, make_ramp(HTONE_F32, 2, 1, 2))));
  assert_equal_tensors(grad_of(first), grad_of(second));
  htone_state_dict* state_dict = state_dict_of(copy);
  htone_tensor* weight = NULL;
  assert_ok(htone_state_dict_find(state_dict, "0.weight", &weight));
  assert_ok(htone_init_uniform(keep_tensor(weight), 5, 6));
  assert_equal_tensors(read_parameter(copy, 1, HTONE_F32), read_parameter(copy, 0, HTONE_F32));
}

static void weights_of_every_storage_are_copied(void** state) {
  (void)state;
  static const htone_master_storage kinds[] = {HTONE_MASTER_FULL, HTONE_MASTER_SPLIT, HTONE_MASTER_NONE};
  for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
    htone_module* module = make_linear(test_device(), 4, 4, 1);
    htone_optimizer_options options;
    assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
    options.compute_dtype = HTONE_BF16;
    options.master_storage = kinds[i];
    make_adamw(module, &options);
    htone_module* copy = copy_of(module);
    assert_int_equal(dtype_of(weights_of(copy, 0)), kinds[i] == HTONE_MASTER_NONE ? HTONE_BF16 : HTONE_F32);
    assert_equal_tensors(read_parameter(copy, 0, HTONE_F32), read_parameter(module, 0, HTONE_F32));
    make_adamw(copy, &options); /* the copy is free for an optimizer */
  }
}

typedef struct Seen {
  int calls;
} Seen;
static htone_status count_forward(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call;
  ++((Seen*)user)->calls;
  return HTONE_OK;
}

static void hooks_stay_with_the_original(void** state) {
  (void)state;
  static Seen seen;
  seen.calls = 0;
  htone_module* module = make_linear(test_device(), 2, 2, 0);
  htone_hook* hook = NULL;
  assert_ok(htone_module_add_forward_pre_hook(module, count_forward, &seen, NULL, &hook));
  keep_hook(hook);
  forward(copy_of(module), make_ramp(HTONE_F32, 2, 1, 2));
  assert_int_equal(seen.calls, 0);
  forward(module, make_ramp(HTONE_F32, 2, 1, 2));
  assert_int_equal(seen.calls, 1);
}

static htone_status pass_on(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module, (void)user;
  *out = input;
  return htone_tensor_retain(input);
}

static void a_custom_module_is_refused_with_its_place(void** state) {
  (void)state;
  htone_module *custom = NULL, *out = NULL;
  assert_ok(htone_module_create_custom(pass_on, NULL, NULL, NULL, &custom));
  keep_module(custom);
  assert_fails(htone_module_copy(custom, &out), HTONE_ERROR_UNSUPPORTED,
               "module is of kind custom, which cannot be copied");
  htone_module* inner[] = {make_linear(test_device(), 2, 2, 0), custom};
  htone_module* outer[] = {make_sequential(2, inner)};
  assert_fails(htone_module_copy(make_sequential(1, outer), &out), HTONE_ERROR_UNSUPPORTED,
               "layer 0.1 is of kind custom");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layer_is_copied_with_its_settings),
      cmocka_unit_test(the_rest_of_the_layers_is_copied),
      cmocka_unit_test(a_copy_is_trained_alone),
      cmocka_unit_test(names_modes_and_frozen_parameters_are_kept),
      cmocka_unit_test(a_layer_that_is_held_twice_is_one_in_the_copy),
      cmocka_unit_test(weights_of_every_storage_are_copied),
      cmocka_unit_test(hooks_stay_with_the_original),
      cmocka_unit_test(a_custom_module_is_refused_with_its_place),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
