/* A weight that an embedding and the output layer of a model share. */
#include <string.h>

#include "test_optimizers.h"

enum { kTokens = 5, kWidth = 3 };

/* An embedding, and a linear layer with its weight. */
static htone_module* make_tied(void) {
  htone_module* layers[2] = {NULL, NULL};
  assert_ok(htone_module_create_embedding(test_device(), kTokens, kWidth, NULL, &layers[0]));
  keep_module(layers[0]);
  assert_ok(htone_module_create_tied_linear(parameter_of(layers[0], 0), NULL, &layers[1]));
  keep_module(layers[1]);
  return make_sequential(2, layers);
}

static htone_tensor* tokens(void) { return make_tensor(HTONE_I64, (const double[]){1, 3, 3, 0}, 1, 4); }

static htone_tensor* tokens4(void) { return make_tensor(HTONE_I64, (const double[]){1, 3, 3, 0}, 2, 1, 4); }

/* The logits of single operations with one weight. */
static htone_tensor* plain_logits(htone_tensor* weight) {
  htone_tensor *vectors = NULL, *logits = NULL;
  assert_ok(htone_embedding(weight, tokens(), -1, &vectors));
  assert_ok(htone_linear(keep_tensor(vectors), weight, NULL, &logits));
  return keep_tensor(logits);
}

static htone_tensor* squared_sum(htone_tensor* x) { return sum_of(apply2(htone_mul, x, x)); }

static void the_gradient_is_the_sum_over_both_uses(void** state) {
  (void)state;
  htone_module* model = make_tied();
  htone_tensor *weight = leaf(make_noise(HTONE_F32, 5, 2, kTokens, kWidth)), *own = weights_of(model, 0);
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  assert_ok(htone_tensor_copy_from(own, weight));
  assert_ok(htone_scope_end(scope));
  assert_tensors_near(forward(model, tokens()), plain_logits(weight), 1e-6);
  backward(squared_sum(forward(model, tokens())));
  backward(squared_sum(plain_logits(weight)));
  assert_tensors_near(grad_of(own), grad_of(weight), 1e-6);
}

static void an_optimizer_updates_it_once(void** state) {
  (void)state;
  htone_module* model = make_tied();
  size_t count = 0;
  assert_ok(htone_parameters_count(parameters_of_module(model), &count));
  assert_int_equal(count, 1);
  htone_optimizer* optimizer = make_sgd(model, 0.5);
  htone_tensor *before = NULL, *step = NULL, *own = weights_of(model, 0);
  assert_ok(htone_tensor_clone(own, &before));
  keep_tensor(before);
  backward(squared_sum(forward(model, tokens())));
  assert_ok(htone_mul_scalar(grad_of(own), 0.5, &step));
  keep_tensor(step);
  assert_ok(htone_optimizer_step(optimizer));
  assert_tensors_near(own, apply2(htone_sub, before, step), 1e-6);
  assert_tensors_near(weights_of(model, 1), own, 1e-6);
}

static void a_state_has_it_under_both_names_and_fits_another_model(void** state) {
  (void)state;
  static const char* const names[] = {"0.weight", "1.weight"};
  htone_module *model = make_tied(), *other = make_tied();
  htone_state_dict* dict = NULL;
  size_t count = 0, length = 0;
  assert_ok(htone_module_state_dict(model, &dict));
  keep_state_dict(dict);
  assert_ok(htone_state_dict_count(dict, &count));
  assert_int_equal(count, COUNT_OF(names));
  for (size_t i = 0; i < count; ++i) {
    char name[32];
    htone_tensor* tensor = NULL;
    assert_ok(htone_state_dict_name(dict, i, name, sizeof name, &length));
    assert_string_equal(name, names[i]);
    assert_ok(htone_state_dict_tensor(dict, i, &tensor));
    assert_tensors_near(keep_tensor(tensor), weights_of(model, 0), 1e-6);
  }
  assert_ok(htone_module_load_state_dict(other, dict, NULL));
  assert_tensors_near(forward(other, tokens()), forward(model, tokens()), 1e-6);
  backward(squared_sum(forward(other, tokens()))); /* still one parameter */
  assert_tensors_near(grad_of(weights_of(other, 0)), grad_of(weights_of(other, 1)), 1e-6);
}

static htone_state_dict* dict_of_two(const char* first, htone_tensor* one, const char* second, htone_tensor* two) {
  htone_state_dict* dict = NULL;
  assert_ok(htone_state_dict_create(&dict));
  keep_state_dict(dict);
  assert_ok(htone_state_dict_add(dict, first, one));
  if (second != NULL) assert_ok(htone_state_dict_add(dict, second, two));
  return dict;
}

static void assert_names_beside(htone_module* model, htone_state_dict* dict, size_t missing, size_t unexpected) {
  htone_state_dict* beside = NULL;
  size_t count = 9;
  assert_ok(htone_module_missing_state(model, dict, &beside));
  assert_ok(htone_state_dict_count(keep_state_dict(beside), &count));
  assert_int_equal(count, missing);
  assert_ok(htone_module_unexpected_state(model, dict, &beside));
  assert_ok(htone_state_dict_count(keep_state_dict(beside), &count));
  assert_int_equal(count, unexpected);
}

/* As files that store a shared tensor once. */
static void one_of_its_names_suffices(void** state) {
  (void)state;
  static const char* const names[] = {"0.weight", "1.weight"};
  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    htone_module* model = make_tied();
    htone_tensor* values = make_noise(HTONE_F32, 7, 2, kTokens, kWidth);
    htone_state_dict* dict = dict_of_two(names[i], values, NULL, NULL);
    assert_names_beside(model, dict, 0, 0);
    assert_ok(htone_module_load_state_dict(model, dict, NULL));
    assert_tensors_near(weights_of(model, 0), values, 1e-6);
  }
}

/* F15 */
static void names_with_other_values_are_refused_and_nothing_is_loaded(void** state) {
  (void)state;
  htone_load_options loose = HTONE_LOAD_OPTIONS_INIT;
  loose.strict = 0;
  const htone_load_options* const options[] = {NULL, &loose};
  for (size_t i = 0; i < COUNT_OF(options); ++i) {
    htone_module* model = make_tied();
    htone_tensor *before = NULL, *one = make_ramp(HTONE_F32, 2, kTokens, kWidth), *other = NULL;
    assert_ok(htone_tensor_clone(weights_of(model, 0), &before));
    assert_ok(htone_tensor_clone(one, &other));
    keep_tensor(before);
    assert_ok(htone_tensor_fill(slice_of(keep_tensor(other), 0, 4, 5, 1), -1));
    assert_fails(htone_module_load_state_dict(model, dict_of_two("0.weight", one, "1.weight", other), options[i]),
                 HTONE_ERROR_INVALID_ARGUMENT, "0.weight and 1.weight are one parameter of the module");
    assert_fails(htone_module_load_state_dict(model, dict_of_two("0.weight", one, "1.weight", cast_of(one, HTONE_BF16)),
                                              options[i]),
                 HTONE_ERROR_INVALID_ARGUMENT, "0.weight and 1.weight are one parameter of the module");
    assert_tensors_near(weights_of(model, 0), before, 1e-6);
  }
}

static htone_module* make_transformer(htone_output_head head) {
  htone_module *model = NULL, *layers[1];
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = kTokens;
  options.positions = 4;
  options.layers = 1;
  options.width = 4;
  options.heads = 2;
  options.head = head;
  assert_ok(htone_module_create_transformer(test_device(), &options, &model));
  layers[0] = keep_module(model);
  return make_sequential(1, layers);
}

/* Files of other programs also have the weight of a tied head under the name of its layer. */
static void a_tied_transformer_takes_a_file_with_its_head(void** state) {
  (void)state;
  htone_module *model = make_transformer(HTONE_HEAD_TIED), *other = make_transformer(HTONE_HEAD_TIED);
  htone_state_dict* dict = state_dict_of(model);
  assert_ok(htone_state_dict_add(dict, "0.lm_head.weight", weights_of(model, 0)));
  assert_names_beside(other, dict, 0, 0);
  assert_ok(htone_module_load_state_dict(other, dict, NULL));
  assert_tensors_near(forward(other, tokens4()), forward(model, tokens4()), 1e-6);

  htone_module* untied = make_transformer(HTONE_HEAD_OWN);
  assert_fails(htone_module_load_state_dict(other, state_dict_of(untied), NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "0.wte.weight and 0.lm_head.weight are one parameter of the module, but differ in state_dict");
  assert_tensors_near(weights_of(other, 0), weights_of(model, 0), 1e-6);
  htone_module* headless = make_transformer(HTONE_HEAD_NONE);
  assert_fails(htone_module_load_state_dict(headless, dict, NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "unexpected: 1 (0.lm_head.weight)");
}

static void a_checkpoint_brings_it_back(void** state) {
  (void)state;
  htone_module *model = make_tied(), *other = make_tied();
  htone_module* models[] = {model, other};
  for (int i = 0; i < 2; ++i) {
    htone_checkpoint* checkpoint = NULL;
    int64_t step = -1;
    assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
    assert_ok(htone_checkpoint_add_module(checkpoint, "model", models[i]));
    assert_ok(htone_checkpoint_add_optimizer(checkpoint, "optimizer", make_sgd(models[i], 0.5)));
    if (i == 0) {
      assert_ok(htone_checkpoint_save(checkpoint, 1));
    } else {
      assert_ok(htone_checkpoint_load(checkpoint, &step));
      assert_int_equal(step, 1);
    }
    assert_ok(htone_checkpoint_release(checkpoint));
  }
  assert_tensors_near(forward(other, tokens()), forward(model, tokens()), 1e-6);
}

static void wrong_shapes_are_named(void** state) {
  (void)state;
  htone_module *linear = make_linear(test_device(), 3, 5, 1), *out = NULL;
  assert_fails(htone_module_create_tied_linear(parameter_of(linear, 1), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "weight [5], expected [out_features, in_features]");
  htone_parameter* bias = make_parameter("bias", make_ramp(HTONE_F32, 1, 4));
  assert_fails(htone_module_create_tied_linear(parameter_of(linear, 0), bias, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "bias [4], expected [5]");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_gradient_is_the_sum_over_both_uses),
      cmocka_unit_test(an_optimizer_updates_it_once),
      cmocka_unit_test(a_state_has_it_under_both_names_and_fits_another_model),
      cmocka_unit_test(one_of_its_names_suffices),
      cmocka_unit_test(names_with_other_values_are_refused_and_nothing_is_loaded),
      cmocka_unit_test(a_tied_transformer_takes_a_file_with_its_head),
      cmocka_unit_test(a_checkpoint_brings_it_back),
      cmocka_unit_test(wrong_shapes_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
