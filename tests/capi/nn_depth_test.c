/* Modules in modules: the maximum nesting depth, and shared children are visited once. */

#include "test_modules.h"

enum { kMaxDepth = 256 };

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
static htone_status run_child(htone_module* module, htone_tensor* input, htone_tensor** out, void* user) {
  htone_module** child = user;
  (void)module;
  if (*child != NULL) return htone_module_forward(*child, input, NULL, out);
  *out = input;
  return htone_tensor_retain(input);
}

static htone_module* no_child;

static htone_module* make_custom(htone_module** child) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(run_child, child, NULL, &module));
  return keep_module(module);
}

static void expect_gradients_through(htone_module* module) {
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){-1, 2}, 1, 2));
  htone_tensor* y = forward(module, x);
  assert_values(y, 0, 0, 2);
  backward(sum_of(y));
  assert_values(grad_of(x), 0, 0, 1);
}

static void a33_sequences_stand_256_deep_and_no_deeper(void** state) {
  (void)state;
  htone_module *module = keep_module(wrap(make_relu(), kMaxDepth - 1)), *outer = NULL;
  size_t count = 1;
  expect_gradients_through(module);
  assert_ok(htone_module_parameter_count(module, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_module_train(module, 0));
  const int64_t before = live_handles();
  htone_module* modules[] = {keep_module(make_relu()), module};
  assert_fails(htone_module_create_sequential(2, modules, &outer), HTONE_INVALID_ARGUMENT,
               "modules would lead to 257 modules in one another, expected at most 256");
  assert_null(outer);
  assert_int_equal(live_handles(), before + 1);
  expect_gradients_through(module);
}

/* The outermost module is made first: the levels above a module count as much as the levels below it. */
static void a33_modules_of_the_callers_stand_256_deep_however_they_were_joined(void** state) {
  (void)state;
  static htone_module* chain[kMaxDepth + 1];
  for (int i = 0; i < kMaxDepth; ++i) {
    chain[i + 1] = NULL;
    chain[i] = i == kMaxDepth - 1 ? keep_module(make_relu()) : make_custom(&chain[i + 1]);
    if (i > 0) assert_ok(htone_module_add_child(chain[i - 1], "inner", chain[i]));
  }
  expect_gradients_through(chain[0]);
  htone_module *parent = chain[kMaxDepth - 2], *outer = NULL, *pair = keep_module(wrap(make_relu(), 1));
  assert_fails(htone_module_add_child(parent, "pair", pair), HTONE_INVALID_ARGUMENT,
               "child would lead to 257 modules in one another, expected at most 256");
  assert_fails(htone_module_create_sequential(1, chain, &outer), HTONE_INVALID_ARGUMENT, "modules would lead to 257");
  assert_ok(htone_module_add_child(parent, "pair", chain[kMaxDepth - 1])); /* the name is still free */
}

static void a33_a_part_may_get_parts_as_far_as_what_stands_around_it_allows(void** state) {
  (void)state;
  htone_module* custom = make_custom(&no_child);
  assert_ok(htone_module_retain(custom));
  htone_module* outermost = keep_module(wrap(custom, 199)); /* custom is the 200th */
  htone_module *fits = keep_module(wrap(make_relu(), 55)), *does_not_fit = keep_module(wrap(make_relu(), 56));
  assert_fails(htone_module_add_child(custom, "deep", does_not_fit), HTONE_INVALID_ARGUMENT, "257");
  assert_ok(htone_module_add_child(custom, "deep", fits));
  htone_module* around = NULL;
  assert_fails(htone_module_create_sequential(1, &outermost, &around), HTONE_INVALID_ARGUMENT, "257");
  assert_fails(htone_module_add_child(custom, "around", outermost), HTONE_INVALID_ARGUMENT, "child is the module");
}

/* With more than 2^18 paths there are no names, but a mode change still reaches every module once. */
static void a33_parts_in_too_many_places_have_no_names(void** state) {
  (void)state;
  htone_module *module = make_linear(test_device(), 2, 2, 1), *inner = module;
  htone_state_dict* dict = NULL;
  htone_parameters* parameters = NULL;
  htone_optimizer* optimizer = NULL;
  htone_checkpoint* checkpoint = NULL;
  size_t count = 0;
  int32_t training = -1;
  for (int level = 0; level < 100; ++level) {
    htone_module* pair[] = {module, module};
    module = make_sequential(2, pair);
    if (level != 16) continue; /* 2^18 - 1 paths */
    assert_ok(htone_module_parameter_count(module, &count));
    assert_int_equal(count, 1 << 18);
  }
  assert_fails(htone_module_parameter_count(module, &count), HTONE_INVALID_ARGUMENT, "more than 262144 modules");
  assert_fails(htone_module_buffer_count(module, &count), HTONE_INVALID_ARGUMENT, "262144");
  assert_fails(htone_module_state_dict(module, &dict), HTONE_INVALID_ARGUMENT, "262144");
  assert_fails(htone_parameters_create_from_module(module, &parameters), HTONE_INVALID_ARGUMENT, "262144");
  assert_fails(htone_optimizer_create_sgd(module, NULL, &optimizer), HTONE_INVALID_ARGUMENT, "262144");
  assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", module));
  assert_fails(htone_checkpoint_save(checkpoint, 1), HTONE_INVALID_ARGUMENT, "262144");
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_ok(htone_module_train(module, 0));
  assert_ok(htone_module_is_training(inner, &training));
  assert_int_equal(training, 0);
}

/* There are 2^40 paths to the innermost module. */
static void parts_that_stand_in_many_places_are_walked_once(void** state) {
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
  assert_fails(htone_module_add_child(levels[40], "around", levels[0]), HTONE_INVALID_ARGUMENT, "child is the module");
  assert_ok(htone_module_add_child(levels[0], "last", levels[40]));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a33_sequences_stand_256_deep_and_no_deeper),
      cmocka_unit_test(a33_modules_of_the_callers_stand_256_deep_however_they_were_joined),
      cmocka_unit_test(a33_a_part_may_get_parts_as_far_as_what_stands_around_it_allows),
      cmocka_unit_test(a33_parts_in_too_many_places_have_no_names),
      cmocka_unit_test(parts_that_stand_in_many_places_are_walked_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
