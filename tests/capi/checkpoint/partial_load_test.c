/* Optimizers that hold other parameters than the checkpoint: after layers were frozen, unfrozen or added. */
#include <stdio.h>
#include <string.h>

#include "test_optimizers.h"

static const char* folder(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/run", test_folder());
  return path;
}

static htone_checkpoint* open_checkpoint(htone_module* module, htone_optimizer* optimizer) {
  htone_checkpoint* checkpoint = NULL;
  assert_ok(htone_checkpoint_create(test_context(), folder(), &checkpoint));
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", module));
  assert_ok(htone_checkpoint_add_optimizer(checkpoint, "optimizer", optimizer));
  return checkpoint;
}

/* Two layers; those up to `frozen` do not learn. */
static htone_module* make_net(int frozen) {
  htone_module* layers[] = {make_linear(test_device(), 2, 3, 1), make_linear(test_device(), 3, 1, 1)};
  htone_module* net = make_sequential(2, layers);
  for (int i = 0; i < 2 * frozen; ++i) assert_ok(htone_parameter_set_frozen(parameter_of(net, (size_t)i), 1));
  return net;
}

static void train(htone_module* net, htone_optimizer* optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    assert_ok(htone_optimizer_zero_grad(optimizer));
    htone_tensor* out = forward(net, make_noise(HTONE_F32, (uint32_t)i, 2, 4, 2));
    backward(sum_of(apply2(htone_mul, out, out)));
    assert_ok(htone_optimizer_step(optimizer));
  }
}

/* Saves a run of both layers after three steps. */
static void save_whole_run(void) {
  htone_module* net = make_net(0);
  htone_optimizer* optimizer = make_adamw(net, NULL);
  train(net, optimizer, 3);
  htone_checkpoint* checkpoint = open_checkpoint(net, optimizer);
  assert_ok(htone_checkpoint_save(checkpoint, 3));
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* Loads the newest checkpoint, and returns the checkpoint object. */
static htone_checkpoint* load_with(htone_module* net, htone_optimizer* optimizer, int32_t strict,
                                   int32_t keep_settings) {
  htone_optimizer_load_options options = HTONE_OPTIMIZER_LOAD_OPTIONS_INIT;
  int64_t step = -1;
  htone_checkpoint* checkpoint = open_checkpoint(net, optimizer);
  options.strict = strict;
  options.keep_settings = keep_settings;
  assert_ok(htone_checkpoint_load_with(checkpoint, &options, &step));
  assert_int_equal(step, 3);
  return checkpoint;
}

/* In `expected`, one space follows each name. */
static void assert_outcome(htone_checkpoint* checkpoint, htone_load_outcome outcome, const char* expected) {
  char names[512] = "", name[64];
  size_t count = 0, length = 0;
  assert_ok(htone_checkpoint_loaded_count(checkpoint, outcome, &count));
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_checkpoint_loaded_name(checkpoint, outcome, i, name, sizeof name, &length));
    assert_int_equal(length, strlen(name));
    strcat(strcat(names, name), " ");
  }
  assert_string_equal(names, expected);
}

static int64_t steps_of(htone_optimizer* optimizer) {
  int64_t count = -1;
  assert_ok(htone_optimizer_step_count(optimizer, &count));
  return count;
}

static double rate_of(htone_optimizer* optimizer) {
  double lr = -1;
  assert_ok(htone_optimizer_group_lr(optimizer, 0, &lr));
  return lr;
}

/* F15 */
static void after_freezing_the_message_tells_what_differs_and_what_to_do(void** state) {
  (void)state;
  int64_t step = -1;
  save_whole_run();
  htone_module* net = make_net(1);
  htone_checkpoint* checkpoint = open_checkpoint(net, make_adamw(net, NULL));
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT,
               "does not fit optimizer: the optimizer holds other parameters "
               "(htone_optimizer_load_options.strict=0 loads those that both have); without saved moments: 0; only "
               "saved: 2 (0.weight, 0.bias)");
  assert_outcome(checkpoint, HTONE_LOAD_DONE, "");
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* The second layer goes on as that of a run whose first layer was frozen without a stop. */
static void after_freezing_the_others_go_on_bitwise(void** state) {
  (void)state;
  htone_module *whole = make_net(0), *resumed = make_net(1);
  htone_optimizer *of_whole = make_adamw(whole, NULL), *of_resumed = make_adamw(resumed, NULL);
  train(whole, of_whole, 3);
  htone_checkpoint* checkpoint = open_checkpoint(whole, of_whole);
  assert_ok(htone_checkpoint_save(checkpoint, 3));
  assert_ok(htone_checkpoint_release(checkpoint));
  checkpoint = load_with(resumed, of_resumed, 0, 0);
  assert_outcome(checkpoint, HTONE_LOAD_DONE, "optimizer/1.weight optimizer/1.bias ");
  assert_outcome(checkpoint, HTONE_LOAD_FRESH, "");
  assert_outcome(checkpoint, HTONE_LOAD_UNUSED, "optimizer/0.weight optimizer/0.bias ");
  assert_ok(htone_checkpoint_release(checkpoint));
  for (size_t i = 0; i < 2; ++i) assert_ok(htone_parameter_set_frozen(parameter_of(whole, i), 1));
  train(whole, of_whole, 2);
  train(resumed, of_resumed, 2);
  for (size_t i = 0; i < 4; ++i) assert_tensors_near(weights_of(resumed, i), weights_of(whole, i), 0);
}

/* A checkpoint of the second layer alone, into both. The moments that the optimizer had before go. */
static void after_unfreezing_new_parameters_begin_with_zeros(void** state) {
  (void)state;
  htone_optimizer_options options = HTONE_SGD_OPTIONS_INIT;
  options.lr = 0.5;
  options.momentum = 0.5;
  htone_module *part = make_net(1), *net = make_net(0);
  htone_optimizer *of_part = make_sgd_with(part, &options), *optimizer = make_sgd_with(net, &options);
  train(part, of_part, 3);
  htone_checkpoint* checkpoint = open_checkpoint(part, of_part);
  assert_ok(htone_checkpoint_save(checkpoint, 3));
  assert_ok(htone_checkpoint_release(checkpoint));
  train(net, optimizer, 2);
  checkpoint = load_with(net, optimizer, 0, 0);
  assert_outcome(checkpoint, HTONE_LOAD_DONE, "optimizer/1.weight optimizer/1.bias ");
  assert_outcome(checkpoint, HTONE_LOAD_FRESH, "optimizer/0.weight optimizer/0.bias ");
  assert_outcome(checkpoint, HTONE_LOAD_UNUSED, "");
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_int_equal(steps_of(optimizer), 3);
  /* With gradients of 0 a step moves a weight by its momentum alone. */
  htone_tensor* before[2];
  for (size_t i = 0; i < 2; ++i) {
    assert_ok(htone_tensor_clone(weights_of(net, 2 * i), &before[i]));
    keep_tensor(before[i]);
  }
  assert_ok(htone_optimizer_zero_grad(optimizer));
  htone_tensor* none = NULL;
  assert_ok(htone_mul_scalar(forward(net, make_noise(HTONE_F32, 1, 2, 4, 2)), 0, &none));
  backward(sum_of(keep_tensor(none)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_tensors_near(weights_of(net, 0), before[0], 0);
  const double moved = item_of(sum_of(apply1(htone_abs, apply2(htone_sub, weights_of(net, 2), before[1]))));
  assert_true(moved > 1e-6);
}

static void moments_load_without_the_settings(void** state) {
  (void)state;
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  save_whole_run();
  options.lr = 0.25;
  options.weight_decay = 0.5;
  for (int32_t strict = 0; strict < 2; ++strict) {
    htone_module* net = make_net(0);
    htone_optimizer* optimizer = make_adamw(net, &options);
    htone_optimizer_options told = HTONE_ADAMW_OPTIONS_INIT;
    assert_ok(htone_checkpoint_release(load_with(net, optimizer, strict, 1)));
    assert_near(rate_of(optimizer), 0.25, 0);
    assert_ok(htone_optimizer_group(optimizer, 0, &told));
    assert_near(told.weight_decay, 0.5, 0);
    assert_int_equal(steps_of(optimizer), 3);
    assert_ok(htone_checkpoint_release(load_with(net, optimizer, strict, 0)));
    assert_near(rate_of(optimizer), 1e-3, 1e-9);
  }
}

/* F15: settings have no names, so those of other groups cannot be loaded. */
static void other_groups_need_the_settings_of_the_program(void** state) {
  (void)state;
  int64_t step = -1;
  htone_optimizer_options slow = HTONE_ADAMW_OPTIONS_INIT;
  htone_optimizer* optimizer = NULL;
  htone_optimizer_load_options by_name = HTONE_OPTIMIZER_LOAD_OPTIONS_INIT;
  save_whole_run();
  htone_module* net = make_net(0);
  assert_ok(htone_optimizer_create_over(parameters_matching(net, "1.*"), NULL, &optimizer));
  keep_optimizer(optimizer);
  slow.lr = 1e-5;
  assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(net, "0.*"), &slow));
  htone_checkpoint* checkpoint = open_checkpoint(net, optimizer);
  by_name.strict = 0;
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT,
               "strict=0 and keep_settings=1 load the moments");
  assert_fails(htone_checkpoint_load_with(checkpoint, &by_name, &step), HTONE_ERROR_FORMAT, "keep_settings=1");
  assert_int_equal(steps_of(optimizer), 0);
  assert_ok(htone_checkpoint_release(checkpoint));
  checkpoint = load_with(net, optimizer, 0, 1);
  assert_outcome(checkpoint, HTONE_LOAD_DONE,
                 "optimizer/1.weight optimizer/1.bias optimizer/0.weight optimizer/0.bias ");
  assert_outcome(checkpoint, HTONE_LOAD_FRESH, "");
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* F15 */
static void two_parameters_of_one_name_are_refused(void** state) {
  (void)state;
  int64_t step = -1;
  htone_optimizer_load_options by_name = HTONE_OPTIMIZER_LOAD_OPTIONS_INIT;
  save_whole_run();
  htone_module* net = make_net(0);
  htone_module* other = make_net(0);
  htone_optimizer* optimizer = make_adamw(net, NULL);
  assert_ok(htone_optimizer_add_group(optimizer, parameters_of_module(other), NULL));
  htone_checkpoint* checkpoint = open_checkpoint(net, optimizer);
  by_name.strict = 0;
  by_name.keep_settings = 1;
  assert_fails(htone_checkpoint_load_with(checkpoint, &by_name, &step), HTONE_ERROR_FORMAT,
               "two parameters of the optimizer have the name 0.weight");
  assert_int_equal(steps_of(optimizer), 0);
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* F15 */
static void moments_of_another_shape_or_storage_are_refused_by_name_too(void** state) {
  (void)state;
  int64_t step = -1;
  htone_optimizer_load_options by_name = HTONE_OPTIMIZER_LOAD_OPTIONS_INIT;
  htone_optimizer_options short_moments = HTONE_ADAMW_OPTIONS_INIT;
  save_whole_run();
  htone_module* net = make_net(0);
  short_moments.moment1_dtype = HTONE_BF16;
  htone_checkpoint* checkpoint = open_checkpoint(net, make_adamw(net, &short_moments));
  for (by_name.strict = 0; by_name.strict < 2; ++by_name.strict) {
    assert_fails(htone_checkpoint_load_with(checkpoint, &by_name, &step), HTONE_ERROR_FORMAT,
                 "tensor 0.0.weight.moment1 is f32 [3, 2], expected bf16 [3, 2]");
  }
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* A state dict of an optimizer, through a file. */
static htone_state_dict* saved_state(htone_optimizer* optimizer) {
  htone_state_dict* dict = NULL;
  char path[512];
  snprintf(path, sizeof path, "%s/optimizer", test_folder());
  assert_ok(htone_optimizer_state_dict(optimizer, &dict));
  assert_ok(htone_safetensors_save(test_context(), path, keep_state_dict(dict)));
  assert_ok(htone_safetensors_load(test_device(), path, &dict));
  return keep_state_dict(dict);
}

static void assert_state_outcome(htone_optimizer* optimizer, htone_state_dict* dict, htone_load_outcome outcome,
                                 const char* expected) {
  char names[512] = "", name[64];
  size_t count = 0, length = 0;
  assert_ok(htone_optimizer_match_count(optimizer, dict, outcome, &count));
  for (size_t i = 0; i < count; ++i) {
    assert_ok(htone_optimizer_match_name(optimizer, dict, outcome, i, name, sizeof name, &length));
    strcat(strcat(names, name), " ");
  }
  assert_string_equal(names, expected);
}

static void a_state_dict_of_an_optimizer_goes_on_bitwise(void** state) {
  (void)state;
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT, told = HTONE_ADAMW_OPTIONS_INIT;
  htone_module *first = make_net(0), *second = NULL;
  htone_optimizer* optimizer = make_adamw(first, &options);
  train(first, optimizer, 3);
  options.lr = 1.0 / 3;
  options.epsilon = 1;
  assert_ok(htone_optimizer_set_group(optimizer, 0, &options));
  htone_state_dict* dict = saved_state(optimizer);
  assert_ok(htone_module_copy(first, &second));
  htone_optimizer* other = make_adamw(keep_module(second), NULL);
  train(first, optimizer, 2);
  assert_ok(htone_optimizer_load_state_dict(other, dict, NULL));
  assert_int_equal(steps_of(other), 3);
  assert_ok(htone_optimizer_group(other, 0, &told));
  assert_memory_equal(&told, &options, sizeof told);
  train(second, other, 2);
  for (size_t i = 0; i < 4; ++i) assert_tensors_near(weights_of(second, i), weights_of(first, i), 0);
}

/* F15 */
static void a_state_dict_of_an_optimizer_loads_in_part(void** state) {
  (void)state;
  htone_optimizer_load_options options = HTONE_OPTIMIZER_LOAD_OPTIONS_INIT;
  htone_optimizer_options fast = HTONE_ADAMW_OPTIONS_INIT;
  htone_module *whole = make_net(0), *net = make_net(1);
  htone_optimizer* of_whole = make_adamw(whole, NULL);
  train(whole, of_whole, 3);
  fast.lr = 0.5;
  htone_optimizer* optimizer = make_adamw(net, &fast);
  htone_state_dict *dict = saved_state(of_whole), *module_dict = NULL;
  assert_fails(htone_optimizer_load_state_dict(optimizer, dict, NULL), HTONE_ERROR_FORMAT,
               "state_dict does not fit optimizer: the optimizer holds other parameters");
  assert_int_equal(steps_of(optimizer), 0);
  assert_state_outcome(optimizer, dict, HTONE_LOAD_DONE, "1.weight 1.bias ");
  assert_state_outcome(optimizer, dict, HTONE_LOAD_FRESH, "");
  assert_state_outcome(optimizer, dict, HTONE_LOAD_UNUSED, "0.weight 0.bias ");
  options.strict = 0;
  options.keep_settings = 1;
  assert_ok(htone_optimizer_load_state_dict(optimizer, dict, &options));
  assert_int_equal(steps_of(optimizer), 3);
  assert_near(rate_of(optimizer), 0.5, 0);
  assert_ok(htone_module_state_dict(net, &module_dict));
  assert_fails(htone_optimizer_load_state_dict(optimizer, keep_state_dict(module_dict), &options), HTONE_ERROR_FORMAT,
               "state_dict does not fit optimizer: kind is missing");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(after_freezing_the_message_tells_what_differs_and_what_to_do),
      cmocka_unit_test(after_freezing_the_others_go_on_bitwise),
      cmocka_unit_test(after_unfreezing_new_parameters_begin_with_zeros),
      cmocka_unit_test(moments_load_without_the_settings),
      cmocka_unit_test(other_groups_need_the_settings_of_the_program),
      cmocka_unit_test(two_parameters_of_one_name_are_refused),
      cmocka_unit_test(moments_of_another_shape_or_storage_are_refused_by_name_too),
      cmocka_unit_test(a_state_dict_of_an_optimizer_goes_on_bitwise),
      cmocka_unit_test(a_state_dict_of_an_optimizer_loads_in_part),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
