/* Modules in modules: the maximum nesting depth, also on a small stack, and shared children are visited once. */

#include "test_child.h"
#include "test_modules.h"

enum { kMaxDepth = 64 };

/* Wraps `module` in `count` nested sequences and returns the outermost. Takes the reference to `module`. */
static htone_module* wrap(htone_module* module, int count) {
  for (int i = 0; i < count; ++i) {
    htone_module* outer = NULL;
    assert_ok(htone_module_create_sequential(1, &module, &outer));
    assert_ok(htone_module_release(module));
    module = outer;
  }
  return module;
}

static htone_module* make_relu(void) {
  htone_module* relu = NULL;
  assert_ok(htone_module_create_relu(&relu));
  return relu;
}

/* Runs the child that `user` points to; without a child it returns the input. */
static htone_status run_child(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  htone_module** child = user;
  (void)module;
  if (*child != NULL) return htone_module_forward(*child, input, NULL, out);
  *out = input;
  return htone_tensor_retain(input);
}

static htone_module* no_child;

static htone_module* make_custom(htone_module** child) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(run_child, child, NULL, NULL, &module));
  return keep_module(module);
}

static void expect_gradients_through(htone_module* module) {
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){-1, 2}, 1, 2));
  htone_tensor* y = forward(module, x);
  assert_values(y, 0, 0, 2);
  backward(sum_of(y));
  assert_values(grad_of(x), 0, 0, 1);
}

static void a33_sequences_stand_64_deep_and_no_deeper(void** state) {
  (void)state;
  htone_module *module = keep_module(wrap(make_relu(), kMaxDepth - 1)), *outer = NULL;
  size_t count = 1;
  expect_gradients_through(module);
  assert_ok(htone_module_parameter_count(module, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_module_set_training(module, 0));
  const int64_t before = live_handles();
  htone_module* modules[] = {keep_module(make_relu()), module};
  assert_fails(htone_module_create_sequential(2, modules, &outer), HTONE_ERROR_INVALID_ARGUMENT,
               "modules would lead to 65 modules in one another, expected at most 64");
  assert_null(outer);
  assert_int_equal(live_handles(), before + 1);
  expect_gradients_through(module);
}

/* Fills chain[0 .. length - 1] with modules in one another, the outermost first; each runs the next. */
static void make_chain(htone_module** chain, int length) {
  for (int i = 0; i < length; ++i) {
    chain[i + 1] = NULL;
    chain[i] = i == length - 1 ? keep_module(make_relu()) : make_custom(&chain[i + 1]);
    if (i > 0) assert_ok(htone_module_add_child(chain[i - 1], "inner", chain[i]));
  }
}

static void a33_modules_of_the_callers_stand_64_deep(void** state) {
  (void)state;
  static htone_module* chain[kMaxDepth + 1];
  make_chain(chain, kMaxDepth);
  expect_gradients_through(chain[0]);
  htone_module *parent = make_custom(&no_child), *deepest = keep_module(wrap(make_relu(), kMaxDepth - 1));
  assert_fails(htone_module_add_child(parent, "deepest", deepest), HTONE_ERROR_INVALID_ARGUMENT,
               "child would lead to 65 modules in one another, expected at most 64");
  assert_ok(htone_module_add_child(parent, "deepest", chain[1])); /* the name is still free */
  assert_fails(htone_module_add_child(chain[kMaxDepth - 2], "around", chain[0]), HTONE_ERROR_INVALID_ARGUMENT,
               "child is the module itself or holds it");
  assert_fails(htone_module_add_child(parent, "itself", parent), HTONE_ERROR_INVALID_ARGUMENT, "child is the module");
}

/* A module does not know its parents. One that became too deep through a part is refused when it is used. */
static void a33_a_module_that_became_too_deep_is_refused_when_it_is_used(void** state) {
  (void)state;
  enum { kLength = 3000 };
  static htone_module* chain[kLength + 1];
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){-1, 2}, 1, 2);
  htone_state_dict* dict = NULL;
  size_t count = 0;
  int32_t training = -1;
  make_chain(chain, kLength);
  assert_refuses(htone_module_forward(chain[0], x, NULL, &out), CALLBACK, "forward of a custom module");
  assert_fails(htone_module_parameter_count(chain[0], &count), HTONE_ERROR_INVALID_ARGUMENT,
               "module has more than 64 modules in one another");
  assert_fails(htone_module_state_dict(chain[0], &dict), HTONE_ERROR_INVALID_ARGUMENT, "64");
  assert_ok(htone_module_set_training(chain[0], 0));
  assert_ok(htone_module_is_training(chain[kLength - 1], &training));
  assert_int_equal(training, 0);
  assert_values(forward(chain[kLength - kMaxDepth], x), 0, 0, 2);
}

static htone_module* itself;

static htone_status run_itself(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module;
  ++*(int*)user;
  return htone_module_forward(itself, input, NULL, out);
}

static void a33_a_forward_that_calls_itself_ends(void** state) {
  (void)state;
  int calls = 0;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){-1, 2}, 1, 2);
  assert_ok(htone_module_create_custom(run_itself, &calls, NULL, NULL, &itself));
  keep_module(itself);
  assert_refuses(htone_module_forward(itself, x, NULL, &out), CALLBACK, "forward of a custom module");
  assert_int_equal(calls, kMaxDepth);
  assert_values(forward(keep_module(make_relu()), x), 0, 0, 2);
}

static htone_status keep_input(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  return HTONE_OK;
}

static void try_to(htone_status* first, htone_status status) {
  if (*first == HTONE_OK) *first = status;
}

/* The calls of a training program. Takes the reference to `module`. */
static void use(htone_module* module, htone_status* status) {
  const int64_t shape[2] = {3, 4};
  htone_tensor *x = NULL, *y = NULL, *loss = NULL;
  htone_hook* hook = NULL;
  htone_state_dict* dict = NULL;
  htone_parameters* set = NULL;
  size_t count = 0;
  try_to(status, htone_module_add_forward_pre_hook(module, keep_input, NULL, NULL, &hook));
  try_to(status, htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 0.5, &x));
  try_to(status, htone_module_forward(module, x, NULL, &y));
  try_to(status, htone_sum(y, 0, NULL, 0, &loss));
  try_to(status, htone_tensor_backward(loss, NULL, 0));
  try_to(status, htone_module_set_training(module, 0));
  try_to(status, htone_module_parameter_count(module, &count));
  try_to(status, htone_module_state_dict(module, &dict));
  try_to(status, htone_module_load_state_dict(module, dict, NULL));
  try_to(status, htone_parameters_create_from_module(module, &set));
  htone_parameters_release(set);
  htone_state_dict_release(dict);
  htone_tensor_release(loss);
  htone_tensor_release(y);
  htone_tensor_release(x);
  htone_hook_release(hook);
  try_to(status, htone_module_release(module));
}

static void* use_deepest_sequence(void* argument) {
  htone_module *module = NULL, *outer = NULL;
  try_to(argument, htone_module_create_linear(test_device(), 4, 4, NULL, &module));
  for (int i = 1; i < kMaxDepth; ++i) {
    try_to(argument, htone_module_create_sequential(1, &module, &outer));
    htone_module_release(module);
    module = outer;
  }
  use(module, argument);
  return NULL;
}

static void* use_deepest_custom(void* argument) {
  static htone_module* chain[kMaxDepth + 1];
  try_to(argument, htone_module_create_linear(test_device(), 4, 4, NULL, &chain[kMaxDepth - 1]));
  for (int i = kMaxDepth - 2; i >= 0; --i) {
    try_to(argument, htone_module_create_custom(run_child, &chain[i + 1], NULL, NULL, &chain[i]));
    try_to(argument, htone_module_add_child(chain[i], "inner", chain[i + 1]));
  }
  use(chain[0], argument);
  for (int i = 1; i < kMaxDepth; ++i) htone_module_release(chain[i]);
  return NULL;
}

/* Backward runs the forward of all of them again. Only the sigmoid saves what the forward computes. */
static void* recompute_deepest_custom(void* argument) {
  static htone_module* chain[kMaxDepth];
  htone_module* layers[2] = {NULL, NULL};
  try_to(argument, htone_module_create_linear(test_device(), 4, 4, NULL, &layers[0]));
  try_to(argument, htone_module_create_sigmoid(&layers[1]));
  try_to(argument, htone_module_create_sequential(2, layers, &chain[kMaxDepth - 2]));
  for (int i = kMaxDepth - 3; i >= 0; --i) {
    try_to(argument, htone_module_create_custom(run_child, &chain[i + 1], NULL, NULL, &chain[i]));
    try_to(argument, htone_module_add_child(chain[i], "inner", chain[i + 1]));
  }
  try_to(argument, htone_module_set_recompute(chain[0], 1));
  use(chain[0], argument);
  for (int i = 1; i < kMaxDepth - 1; ++i) htone_module_release(chain[i]);
  htone_module_release(layers[0]);
  htone_module_release(layers[1]);
  return NULL;
}

/* Deeper than forward allows: destruction does not recurse. */
static void* release_deep_chain(void* argument) {
  enum { kLength = 20000 };
  static htone_module* chain[kLength];
  for (int i = 0; i < kLength; ++i) {
    try_to(argument, htone_module_create_custom(run_child, &no_child, NULL, NULL, &chain[i]));
    if (i > 0) try_to(argument, htone_module_add_child(chain[i - 1], "inner", chain[i]));
  }
  for (int i = kLength - 1; i >= 0; --i) try_to(argument, htone_module_release(chain[i]));
  return NULL;
}

static int run_on_small_stack(void* argument) {
  htone_status status = HTONE_OK;
  run_on_stack_of((size_t)64 * 1024, *(void* (**)(void*))argument, &status);
  return (int)status;
}

/* H2. In a child, which a stack that overflows ends. */
static void h2_the_deepest_modules_train_on_64_kib_of_stack(void** state) {
  (void)state;
  static void* (*const uses[])(void*) = {use_deepest_sequence, use_deepest_custom, recompute_deepest_custom,
                                         release_deep_chain};
  if (kSanitized) skip_test("a sanitizer's frames are larger");
  skip_under_valgrind();
  test_device();
  for (size_t i = 0; i < COUNT_OF(uses); ++i) {
    assert_int_equal(code_of_child(run_on_small_stack, (void*)&uses[i]), HTONE_OK);
  }
}

/* With more than 2^18 paths there are no names, but a mode change still reaches every module once. */
static void a33_parts_on_too_many_paths_have_no_names(void** state) {
  (void)state;
  htone_module *module = make_linear(test_device(), 2, 2, 1), *inner = module;
  htone_state_dict* dict = NULL;
  htone_parameters* parameters = NULL;
  htone_optimizer* optimizer = NULL;
  htone_checkpoint* checkpoint = NULL;
  size_t count = 0;
  int32_t training = -1;
  for (int level = 0; level < 60; ++level) {
    htone_module* pair[] = {module, module};
    module = make_sequential(2, pair);
    if (level != 16) continue; /* 2^18 - 1 paths */
    assert_ok(htone_module_parameter_count(module, &count));
    assert_int_equal(count, 1 << 18);
  }
  assert_fails(htone_module_parameter_count(module, &count), HTONE_ERROR_INVALID_ARGUMENT, "more than 262144 modules");
  assert_fails(htone_module_buffer_count(module, &count), HTONE_ERROR_INVALID_ARGUMENT, "262144");
  assert_fails(htone_module_state_dict(module, &dict), HTONE_ERROR_INVALID_ARGUMENT, "262144");
  assert_fails(htone_parameters_create_from_module(module, &parameters), HTONE_ERROR_INVALID_ARGUMENT, "262144");
  assert_fails(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &optimizer),
               HTONE_ERROR_INVALID_ARGUMENT, "262144");
  assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", module));
  assert_fails(htone_checkpoint_save(checkpoint, 1), HTONE_ERROR_INVALID_ARGUMENT, "262144");
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_ok(htone_module_set_training(module, 0));
  assert_ok(htone_module_is_training(inner, &training));
  assert_int_equal(training, 0);
}

/* There are 2^40 paths to the innermost module. */
static void parts_on_many_paths_are_walked_once(void** state) {
  (void)state;
  htone_module* levels[41];
  for (int i = 0; i < 41; ++i) levels[i] = make_custom(&no_child);
  /* from both ends, so a new child sometimes has children already and sometimes gets parents later */
  for (int i = 0; i < 40; i += 2) {
    assert_ok(htone_module_add_child(levels[i], "a", levels[i + 1]));
    assert_ok(htone_module_add_child(levels[i], "b", levels[i + 1]));
  }
  for (int i = 39; i > 0; i -= 2) {
    assert_ok(htone_module_add_child(levels[i], "a", levels[i + 1]));
    assert_ok(htone_module_add_child(levels[i], "b", levels[i + 1]));
  }
  htone_module* pair[] = {levels[0], levels[0]};
  make_sequential(2, pair);
  assert_fails(htone_module_add_child(levels[40], "around", levels[0]), HTONE_ERROR_INVALID_ARGUMENT,
               "child is the module");
  assert_ok(htone_module_add_child(levels[0], "last", levels[40]));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a33_sequences_stand_64_deep_and_no_deeper),
      cmocka_unit_test(a33_modules_of_the_callers_stand_64_deep),
      cmocka_unit_test(a33_a_module_that_became_too_deep_is_refused_when_it_is_used),
      cmocka_unit_test(a33_a_forward_that_calls_itself_ends),
      cmocka_unit_test(h2_the_deepest_modules_train_on_64_kib_of_stack),
      cmocka_unit_test(a33_parts_on_too_many_paths_have_no_names),
      cmocka_unit_test(parts_on_many_paths_are_walked_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
