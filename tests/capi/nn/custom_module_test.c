/* Custom modules: training, their children, failures of their forward, lifetimes. */
#include <string.h>

#include "test_optimizers.h"

/* A custom layer: input * scale, then a child. */
typedef struct Scaling {
  htone_module* module;
  htone_module* part;
  htone_parameter* scale;
  int destroyed;
  int was_training;
  htone_status answer;
  int leaves_nothing;
} Scaling;

static htone_status scaling_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  Scaling* scaling = user;
  htone_tensor *scale = NULL, *scaled = NULL;
  int32_t training = -1;
  if (scaling->leaves_nothing) return HTONE_OK;
  if (scaling->answer != HTONE_OK) return scaling->answer;
  htone_status status = htone_module_is_training(module, &training);
  scaling->was_training = training;
  if (status == HTONE_OK) status = htone_parameter_tensor(scaling->scale, &scale);
  if (status == HTONE_OK) status = htone_mul(input, scale, &scaled);
  if (status == HTONE_OK) status = htone_module_forward(scaling->part, scaled, NULL, out);
  htone_tensor_release(scaled);
  htone_tensor_release(scale);
  return status;
}

static void scaling_destroy(void* user) { ++((Scaling*)user)->destroyed; }

static void make_scaling(Scaling* scaling) {
  memset(scaling, 0, sizeof *scaling);
  assert_ok(htone_module_create_custom(scaling_forward, scaling, scaling_destroy, NULL, &scaling->module));
  keep_module(scaling->module);
  scaling->part = make_linear(test_device(), 2, 1, 0);
  assert_ok(htone_parameter_create("scale", make_tensor(HTONE_F32, (const double[]){3, 5}, 1, 2), &scaling->scale));
  keep_parameter(scaling->scale);
  assert_ok(htone_module_add_parameter(scaling->module, "scale", scaling->scale));
  assert_ok(htone_module_add_child(scaling->module, "inner", scaling->part));
  assert_ok(htone_tensor_write(weights_of(scaling->part, 0), HTONE_F64, (const double[]){1, 2}, 2 * sizeof(double)));
}

static void a_module_of_the_callers_trains_like_any_other(void** state) {
  (void)state;
  static Scaling scaling;
  make_scaling(&scaling);
  htone_module* model = make_sequential(1, &scaling.module);
  htone_tensor* out = forward(model, make_tensor(HTONE_F32, (const double[]){1, 10}, 2, 1, 2));
  assert_values(out, 0, 3 + 2 * 50);
  backward(sum_of(out));
  assert_values(grad_of(weights_of(model, 0)), 0, 1, 20);
  assert_values(grad_of(weights_of(model, 1)), 0, 3, 50);
  htone_optimizer* optimizer = make_sgd(model, 0.5);
  backward(sum_of(forward(model, make_tensor(HTONE_F32, (const double[]){0, 0}, 2, 1, 2))));
  assert_ok(htone_optimizer_step(optimizer));
  assert_values(weights_of(model, 0), 0, 3 - 0.5, 5 - 10);
}

static void its_state_and_mode_reach_parameters_buffers_and_children(void** state) {
  (void)state;
  static const char* const names[] = {"0.scale", "0.inner.weight", "0.seen"};
  static Scaling scaling;
  htone_state_dict* dict = NULL;
  size_t count = 0, length = 0;
  make_scaling(&scaling);
  htone_tensor* seen = make_scalar(HTONE_I64, 7);
  assert_ok(htone_module_add_buffer(scaling.module, "seen", seen));
  htone_module* model = make_sequential(1, &scaling.module);
  assert_ok(htone_module_state_dict(model, &dict));
  keep_state_dict(dict);
  assert_ok(htone_state_dict_count(dict, &count));
  assert_int_equal(count, COUNT_OF(names));
  for (size_t i = 0; i < count; ++i) {
    char name[32];
    assert_ok(htone_state_dict_name(dict, i, name, sizeof name, &length));
    assert_string_equal(name, names[i]);
  }
  int32_t training = -1;
  assert_ok(htone_module_set_training(model, 0));
  assert_ok(htone_module_is_training(scaling.part, &training));
  assert_int_equal(training, 0);
  forward(model, make_ramp(HTONE_F32, 2, 1, 2));
  assert_int_equal(scaling.was_training, 0);
}

static void a_module_takes_no_name_twice(void** state) {
  (void)state;
  static Scaling scaling;
  make_scaling(&scaling);
  htone_module* model = make_sequential(1, &scaling.module);
  htone_tensor* tensor = make_scalar(HTONE_F32, 0);
  assert_fails(htone_module_add_buffer(scaling.module, "scale", tensor), HTONE_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(htone_module_add_child(scaling.module, "scale", scaling.part), HTONE_ERROR_INVALID_ARGUMENT, "already");
  assert_fails(htone_module_add_parameter(scaling.module, "inner", scaling.scale), HTONE_ERROR_INVALID_ARGUMENT,
               "already");
  assert_fails(htone_module_add_buffer(model, "seen", tensor), HTONE_ERROR_STATE, "custom");
  htone_tensor* x = leaf(make_scalar(HTONE_F32, 0));
  assert_fails(htone_module_add_buffer(scaling.module, "seen", apply2(htone_mul, x, x)), HTONE_ERROR_STATE, "tensor");
  size_t count = 0;
  assert_ok(htone_module_parameter_count(scaling.module, &count));
  assert_int_equal(count, 2);
}

/* A20 */
static void a_failed_forward_tells_the_code(void** state) {
  (void)state;
  static Scaling scaling;
  make_scaling(&scaling);
  htone_tensor* input = make_ramp(HTONE_F32, 2, 1, 2);
  scaling.answer = HTONE_ERROR_CANCELLED;
  assert_refuses(htone_module_forward(make_sequential(1, &scaling.module), input, NULL, &out), CALLBACK, "CANCELLED");
  assert_int_equal(last_native_code(), HTONE_ERROR_CANCELLED);
  scaling.leaves_nothing = 1;
  assert_refuses(htone_module_forward(scaling.module, input, NULL, &out), INVALID_HANDLE, "left no output");
}

static void autocast_reaches_the_callback(void** state) {
  (void)state;
  static Scaling scaling;
  htone_autocast_policy* policy = NULL;
  htone_tensor* out = NULL;
  make_scaling(&scaling);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_module_forward(scaling.module, make_ramp(HTONE_F32, 2, 1, 2), policy, &out));
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_BF16); /* the dtype of the linear child */
}

static void a_module_destroys_its_user_data_once(void** state) {
  (void)state;
  Scaling scaling = {.destroyed = 0};
  htone_module* model = NULL;
  assert_ok(htone_module_create_custom(scaling_forward, &scaling, scaling_destroy, NULL, &scaling.module));
  assert_ok(htone_module_create_sequential(1, &scaling.module, &model));
  assert_ok(htone_module_release(scaling.module));
  assert_int_equal(scaling.destroyed, 0);
  assert_ok(htone_module_release(model));
  assert_int_equal(scaling.destroyed, 1);
  assert_fails(htone_module_create_custom(NULL, &scaling, scaling_destroy, NULL, NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "callback");
  assert_int_equal(scaling.destroyed, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_module_of_the_callers_trains_like_any_other),
      cmocka_unit_test(its_state_and_mode_reach_parameters_buffers_and_children),
      cmocka_unit_test(a_module_takes_no_name_twice),
      cmocka_unit_test(a_failed_forward_tells_the_code),
      cmocka_unit_test(autocast_reaches_the_callback),
      cmocka_unit_test(a_module_destroys_its_user_data_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
