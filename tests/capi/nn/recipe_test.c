/* Low-precision recipes through the C API. tests/ops/recipe_test.cpp and tests/nn/recipe_test.cpp have the values. */
#include "test_modules.h"

static htone_recipe* make_recipe(htone_recipe_kind kind, const htone_recipe_options* options) {
  htone_recipe* recipe = NULL;
  assert_ok(htone_recipe_create(kind, options, &recipe));
  return recipe;
}

static htone_autocast_policy* make_policy(htone_recipe_kind kind) {
  htone_autocast_policy* policy = NULL;
  htone_recipe* recipe = make_recipe(kind, NULL);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_policy_set_recipe(policy, recipe));
  assert_ok(htone_recipe_release(recipe));
  return policy;
}

static htone_tensor* forward_under(htone_module* module, htone_tensor* x, htone_autocast_policy* policy) {
  htone_tensor* y = NULL;
  assert_ok(htone_module_forward(module, x, policy, &y));
  return keep_tensor(y);
}

/* Under the scale of 224 / 448, 17 is half-way between the codes for 16 and 18. */
static void a_policy_with_a_recipe_multiplies_codes(void** state) {
  (void)state;
  htone_module* layer = make_linear(test_device(), 2, 1, 0);
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){17, 224}, 2, 1, 2);
  htone_autocast_policy* policy = make_policy(HTONE_RECIPE_CURRENT);
  assert_ok(htone_tensor_fill(weights_of(layer, 0), 1));
  assert_values(forward_under(layer, x, policy), 0, 240);
  assert_ok(htone_autocast_policy_set_recipe(policy, NULL));
  assert_values(forward_under(layer, x, policy), 0, 241);
  assert_ok(htone_autocast_policy_release(policy));
}

static void modules_are_left_out_by_path_and_kind(void** state) {
  (void)state;
  htone_module* layers[] = {make_linear(test_device(), 2, 2, 0), make_linear(test_device(), 2, 1, 0)};
  htone_module* model = make_sequential(2, layers);
  htone_recipe* recipe = make_recipe(HTONE_RECIPE_NVFP4, NULL);
  size_t count = 0;
  assert_ok(htone_module_set_recipe_matching(model, NULL, "linear", recipe, &count));
  assert_int_equal(count, 2);
  assert_ok(htone_module_set_recipe_matching(model, "1", NULL, NULL, &count));
  assert_int_equal(count, 1);
  assert_ok(htone_module_clear_recipe_matching(model, NULL, NULL, &count));
  assert_int_equal(count, 3);
  assert_ok(htone_module_set_recipe_matching(model, "2", NULL, recipe, &count));
  assert_int_equal(count, 0);
  assert_ok(htone_recipe_release(recipe));
}

static void delayed_scaling_keeps_its_history_in_the_layer(void** state) {
  (void)state;
  htone_module* layer = make_linear(test_device(), 2, 1, 0);
  htone_autocast_policy* policy = make_policy(HTONE_RECIPE_DELAYED);
  htone_recipe_options options = HTONE_RECIPE_OPTIONS_INIT;
  htone_tensor *x = make_tensor(HTONE_F32, (const double[]){3, -7}, 2, 1, 2), *y = NULL, *history = NULL;
  htone_recipe* recipe;
  size_t count;
  assert_fails(htone_module_forward(layer, x, policy, &y), HTONE_ERROR_STATE,
               "give them the recipe with set_recipe_matching");
  options.history_length = 2;
  recipe = make_recipe(HTONE_RECIPE_DELAYED, &options);
  assert_ok(htone_module_set_recipe_matching(layer, NULL, NULL, recipe, &count));
  forward_under(layer, x, policy);
  assert_ok(htone_state_dict_find(state_dict_of(layer), "amax_history", &history));
  assert_values(keep_tensor(history), 0, 7, 0, 0, 0);
  assert_ok(htone_recipe_release(recipe));
  assert_ok(htone_autocast_policy_release(policy));
}

static void a_policy_that_casts_nothing_takes_no_recipe(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_recipe* recipe = make_recipe(HTONE_RECIPE_MXFP8, NULL);
  assert_ok(htone_autocast_policy_create(HTONE_F32, &policy));
  assert_fails(htone_autocast_policy_set_recipe(policy, recipe), HTONE_ERROR_INVALID_ARGUMENT, "policy is of f32");
  assert_ok(htone_autocast_policy_set_recipe(policy, NULL));
  assert_ok(htone_recipe_release(recipe));
  assert_ok(htone_autocast_policy_release(policy));
}

static void check_refused(const htone_recipe_options* options, const char* part) {
  htone_recipe* recipe = NULL;
  assert_fails(htone_recipe_create(HTONE_RECIPE_DELAYED, options, &recipe), HTONE_ERROR_INVALID_ARGUMENT, part);
  assert_null(recipe);
}

static void settings_out_of_range_are_named(void** state) {
  (void)state;
  htone_recipe_options options = HTONE_RECIPE_OPTIONS_INIT;
  options.format = 0;
  check_refused(&options, "options.format=0");
  options.format = HTONE_RECIPE_FORMAT_HYBRID;
  options.history_length = 0;
  check_refused(&options, "options.history_length=0");
  options.history_length = 1;
  options.margin = 65;
  check_refused(&options, "options.margin=65");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_policy_with_a_recipe_multiplies_codes),
      cmocka_unit_test(modules_are_left_out_by_path_and_kind),
      cmocka_unit_test(delayed_scaling_keeps_its_history_in_the_layer),
      cmocka_unit_test(a_policy_that_casts_nothing_takes_no_recipe),
      cmocka_unit_test(settings_out_of_range_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
