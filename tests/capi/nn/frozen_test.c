/* Frozen parameters have no gradient, no memory for one, and no step changes them. */
#include "one_by_one.h"

static int64_t gradient_bytes(htone_device* device) {
  htone_memory_stats stats = {.struct_size = sizeof stats};
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats.by_category[HTONE_MEMORY_GRADIENTS];
}

static void freeze(htone_module* module, size_t index, int32_t frozen) {
  assert_ok(htone_parameter_set_frozen(parameter_of(module, index), frozen));
}

static void a_frozen_parameter_needs_no_gradient_and_no_memory_for_one(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_module* module = make_linear(device, 8, 8, 0);
  int32_t frozen = -1;
  freeze(module, 0, 1);
  assert_ok(htone_parameter_is_frozen(parameter_of(module, 0), &frozen));
  assert_int_equal(frozen, 1);
  assert_false(requires_grad(weights_of(module, 0)));
  assert_true(gradient_bytes(device) == 0);
  freeze(module, 0, 0);
  assert_ok(htone_parameter_is_frozen(parameter_of(module, 0), &frozen));
  assert_int_equal(frozen, 0);
  assert_true(requires_grad(weights_of(module, 0)));
  backward(sum_of(weights_of(module, 0)));
  assert_true(gradient_bytes(device) == 8 * 8 * 4);
  freeze(module, 0, 1);
  assert_true(gradient_bytes(device) == 0);
}

static void an_optimizer_of_a_module_leaves_the_frozen_out(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer* refused = NULL;
  freeze(module, 1, 1);
  htone_optimizer* optimizer = make_sgd_with(module, NULL);
  assert_fails(htone_optimizer_add_group(optimizer, parameters_matching(module, "bias"), NULL), HTONE_ERROR_STATE,
               "bias");
  freeze(module, 1, 0);
  assert_ok(
      /* the parameter had no optimizer */
      htone_optimizer_add_group(optimizer, parameters_matching(module, "bias"), NULL));
  htone_module* still = one_by_one(1);
  for (size_t i = 0; i < 2; ++i) freeze(still, i, 1);
  assert_fails(htone_optimizer_create(still, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &refused),
               HTONE_ERROR_STATE, "module");
}

/* Weight decay would change the weights, and so would a gradient from before the freeze. */
static void an_owned_parameter_rests_while_it_is_frozen(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_create(module, NULL, &optimizer));
  keep_optimizer(optimizer);
  give_gradient(module, 0, 1);
  give_gradient(module, 1, 1);
  freeze(module, 1, 1);
  assert_ok(htone_optimizer_step(optimizer));
  assert_true(value_of(module, 0) < 1);
  assert_near(value_of(module, 1), 1, 0);
  freeze(module, 1, 0);
  train_one_step(optimizer, module, 1);
  assert_true(value_of(module, 1) < 1);
}

/* Freezing releases the gradient's memory. After the thaw the gradient has new memory, and the step must read that. */
static void a_step_after_a_thaw_reads_the_new_gradient(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer* optimizer = make_sgd(module, 1);
  htone_tensor* others[64];
  const int64_t size = 1;
  train_one_step(optimizer, module, 0);
  freeze(module, 0, 1);
  for (size_t i = 0; i < COUNT_OF(others); ++i) { /* take the memory that the gradient had */
    assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, &size, 1000, &others[i]));
    keep_tensor(others[i]);
  }
  freeze(module, 0, 0);
  train_one_step(optimizer, module, 0.25);
  assert_near(value_of(module, 0), 0.75, 0);
}

/* One product stores its gradient directly into the leaf's memory, the sum hands its gradient over. */
static void a_graph_made_before_the_freeze_delivers_nothing(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_module* module = make_linear(device, 4, 4, 1);
  const int64_t shape[] = {4, 4};
  htone_tensor* input = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &input));
  htone_tensor* leaf_before = weights_of(module, 0);
  htone_tensor* product = sum_of(forward(module, keep_tensor(input)));
  htone_tensor* sum = sum_of(leaf_before);
  freeze(module, 0, 1);
  backward(product);
  backward(sum);
  assert_true(gradient_bytes(device) == 4 * 4); /* the bias's gradient */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_frozen_parameter_needs_no_gradient_and_no_memory_for_one),
      cmocka_unit_test(an_optimizer_of_a_module_leaves_the_frozen_out),
      cmocka_unit_test(an_owned_parameter_rests_while_it_is_frozen),
      cmocka_unit_test(a_step_after_a_thaw_reads_the_new_gradient),
      cmocka_unit_test(a_graph_made_before_the_freeze_delivers_nothing),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
