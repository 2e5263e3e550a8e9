/* Hooks: order, the tensors that they receive and may replace, removal (also during a round of calls), failures, calls
 * back into the library. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

enum { kMaxLog = 64 };

/* The letters of the called hooks, in order. */
static char call_log[kMaxLog];

/* Every hook of this file logs its letter and does one more thing. */
typedef struct HookState {
  char letter;
  double factor; /* the hook multiplies its tensor by this; 0 leaves it unchanged */
  htone_status answer;
  htone_hook* remove; /* optional: the hook that this call removes */
  int destroyed;
} HookState;

static void destroy_state(void* user) { ++((HookState*)user)->destroyed; }

static htone_status act(HookState* hook, htone_tensor* arriving, htone_tensor** out) {
  const size_t length = strlen(call_log);
  if (length + 1 < kMaxLog) call_log[length] = hook->letter;
  if (hook->answer != HTONE_OK) return hook->answer;
  if (hook->remove != NULL && htone_hook_remove(hook->remove) != HTONE_OK) return HTONE_ERROR_INTERNAL;
  return hook->factor == 0 ? HTONE_OK : htone_rescale(arriving, hook->factor, 0, out);
}

static htone_status before_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out_input = call->out_tensors;
  int32_t training = 0;
  const htone_status status = htone_module_is_training(module, &training);
  return status != HTONE_OK ? status : act(user, input, out_input);
}

static htone_status after_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor *const input = call->inputs[0], *const output = call->outputs[0];
  htone_tensor** const out_output = call->out_tensors;
  int64_t count = 0;
  (void)module;
  const htone_status status = htone_tensor_numel(input, &count);
  return status != HTONE_OK ? status : act(user, output, out_output);
}

static htone_status on_gradient(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  return act(user, gradient, out_gradient);
}

static htone_status on_parameter(htone_parameter* parameter, void* user) {
  htone_tensor *weights = NULL, *gradient = NULL;
  htone_status status = htone_parameter_tensor(parameter, &weights);
  if (status == HTONE_OK) status = htone_tensor_grad(weights, &gradient);
  htone_tensor_release(gradient);
  htone_tensor_release(weights);
  return status != HTONE_OK ? status : act(user, NULL, NULL);
}

static htone_hook* hook_before(htone_module* module, HookState* hook) {
  htone_hook* out = NULL;
  assert_ok(htone_module_add_forward_pre_hook(module, before_forward, hook, destroy_state, &out));
  return keep_hook(out);
}
static htone_hook* hook_after(htone_module* module, HookState* hook) {
  htone_hook* out = NULL;
  assert_ok(htone_module_add_forward_hook(module, after_forward, hook, destroy_state, &out));
  return keep_hook(out);
}
static htone_hook* hook_gradient(htone_tensor* tensor, HookState* hook) {
  htone_hook* out = NULL;
  assert_ok(htone_tensor_add_gradient_hook(tensor, on_gradient, hook, destroy_state, &out));
  return keep_hook(out);
}
static htone_hook* hook_parameter(htone_parameter* parameter, HookState* hook) {
  htone_hook* out = NULL;
  assert_ok(htone_parameter_add_post_accumulate_hook(parameter, on_parameter, hook, destroy_state, &out));
  return keep_hook(out);
}

/* Static: tests set these, and hooks outlive the test's body. */
static HookState hooks[4];

static void reset_hooks(void) {
  memset(call_log, 0, sizeof call_log);
  memset(hooks, 0, sizeof hooks);
  for (size_t i = 0; i < COUNT_OF(hooks); ++i) hooks[i].letter = (char)('a' + i);
}

static htone_module* make_relu(void) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_relu(&module));
  return keep_module(module);
}

static htone_tensor* ones(void) { return make_tensor(HTONE_F32, (const double[]){1, 1}, 1, 2); }

static void forward_hooks_replace_in_the_order_of_registration(void** state) {
  (void)state;
  reset_hooks();
  htone_module* relu = make_relu();
  hooks[1].factor = -2; /* relu(-2) is 0 */
  hook_before(relu, &hooks[0]);
  hook_before(relu, &hooks[1]);
  hook_after(relu, &hooks[2]);
  assert_values(forward(make_sequential(1, &relu), ones()), 0, 0, 0);
  assert_string_equal(call_log, "abc");
  hooks[0].factor = -3;
  hooks[2].factor = 5;
  assert_values(forward(relu, ones()), 0, 30, 30);
  assert_string_equal(call_log, "abcabc");
}

static void a_removed_hook_is_not_called(void** state) {
  (void)state;
  reset_hooks();
  htone_module* relu = make_relu();
  htone_hook* first = hook_before(relu, &hooks[0]);
  hook_before(relu, &hooks[1]);
  assert_ok(htone_hook_remove(first));
  assert_int_equal(hooks[0].destroyed, 1);
  assert_ok(htone_hook_remove(first));
  forward(relu, ones());
  assert_string_equal(call_log, "b");
  assert_int_equal(hooks[0].destroyed, 1);
  assert_int_equal(hooks[1].destroyed, 0);
}

static void a_hook_may_remove_itself_and_the_next_one(void** state) {
  (void)state;
  reset_hooks();
  htone_module* relu = make_relu();
  htone_hook* first = hook_before(relu, &hooks[0]);
  hooks[0].remove = hook_before(relu, &hooks[1]);
  hooks[2].remove = first;
  hook_before(relu, &hooks[2]);
  forward(relu, ones());
  assert_string_equal(call_log, "ac"); /* b was removed before its turn */
  assert_int_equal(hooks[1].destroyed, 1);
  forward(relu, ones());
  assert_string_equal(call_log, "acc");
  assert_int_equal(hooks[0].destroyed, 1);
}

static void releasing_the_handle_leaves_the_hook(void** state) {
  (void)state;
  reset_hooks();
  htone_module* module = NULL;
  htone_hook* hook = NULL;
  assert_ok(htone_module_create_relu(&module));
  assert_ok(htone_module_add_forward_pre_hook(module, before_forward, &hooks[0], destroy_state, &hook));
  assert_ok(htone_hook_release(hook));
  forward(module, ones());
  assert_string_equal(call_log, "a");
  assert_int_equal(hooks[0].destroyed, 0);
  assert_ok(htone_module_release(module));
  assert_int_equal(hooks[0].destroyed, 1);
}

/* A handle that is kept keeps neither the hook nor the object that the hook is on. */
static void a35_a_hook_is_destroyed_with_its_module_although_its_handle_is_kept(void** state) {
  (void)state;
  reset_hooks();
  htone_module* relu = NULL;
  assert_ok(htone_module_create_relu(&relu));
  htone_hook* first = hook_before(relu, &hooks[0]);
  htone_hook* second = hook_after(relu, &hooks[1]);
  assert_ok(htone_module_release(relu));
  assert_int_equal(hooks[0].destroyed, 1);
  assert_int_equal(hooks[1].destroyed, 1);
  assert_ok(htone_hook_remove(first));
  assert_ok(htone_hook_remove(second));
  assert_true(hooks[0].destroyed == 1 && hooks[1].destroyed == 1);
}

static void a35_a_hook_is_destroyed_with_its_tensor_or_parameter_although_its_handle_is_kept(void** state) {
  (void)state;
  reset_hooks();
  htone_module* linear = NULL;
  htone_parameter* weight = NULL;
  htone_tensor *source = NULL, *result = NULL;
  const int64_t shape = 2;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &linear));
  assert_ok(htone_module_parameter(linear, 0, &weight));
  hook_parameter(weight, &hooks[0]);
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, &shape, 1, &source));
  assert_ok(htone_tensor_set_requires_grad(source, 1));
  assert_ok(htone_rescale(source, 2, 0, &result));
  hook_gradient(source, &hooks[1]);
  hook_gradient(result, &hooks[2]);
  assert_ok(htone_parameter_release(weight));
  assert_int_equal(hooks[0].destroyed, 0);
  assert_ok(htone_module_release(linear));
  assert_int_equal(hooks[0].destroyed, 1);
  assert_ok(htone_tensor_release(result));
  assert_int_equal(hooks[2].destroyed, 1);
  assert_ok(htone_tensor_release(source));
  assert_int_equal(hooks[1].destroyed, 1);
}

/* A20 */
static void a_failed_forward_hook_stops_the_forward(void** state) {
  (void)state;
  reset_hooks();
  htone_module* relu = make_relu();
  htone_tensor* input = ones();
  hook_before(relu, &hooks[0]);
  hook_before(relu, &hooks[1]);
  hook_after(relu, &hooks[2]);
  hooks[0].answer = HTONE_ERROR_IO;
  assert_refuses(htone_module_forward(relu, input, NULL, &out), CALLBACK, "a forward pre-hook returned 11 (IO)");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  assert_string_equal(call_log, "a");
  hooks[0].answer = HTONE_OK;
  hooks[2].answer = HTONE_ERROR_CANCELLED;
  assert_refuses(htone_module_forward(relu, input, NULL, &out), CALLBACK, "a forward hook returned");
}

static void a_gradient_hook_sees_the_whole_gradient_once_and_may_replace_it(void** state) {
  (void)state;
  reset_hooks();
  htone_tensor* x = leaf(ones());
  htone_tensor* y = apply2(htone_mul, x, make_tensor(HTONE_F32, (const double[]){2, 3}, 1, 2));
  hooks[0].factor = 10;
  hooks[1].factor = 100;
  hook_gradient(y, &hooks[0]);
  hook_gradient(x, &hooks[1]);
  backward(sum_of(apply2(htone_add, y, y))); /* y's gradient is 2, one from each operand */
  assert_string_equal(call_log, "ab");
  assert_values(grad_of(x), 0, 2 * 10 * 2 * 100, 2 * 10 * 3 * 100);
}

static void a_leafs_gradient_hook_sees_what_is_added(void** state) {
  (void)state;
  reset_hooks();
  htone_module* linear = make_linear(test_device(), 2, 1, 0);
  hooks[0].factor = 2;
  /* without the hook the product would write directly into the gradient's memory */
  hook_gradient(weights_of(linear, 0), &hooks[0]);
  for (int i = 0; i < 2; ++i) backward(sum_of(forward(linear, make_ramp(HTONE_F32, 2, 1, 2))));
  assert_values(grad_of(weights_of(linear, 0)), 0, 0, 4);
  assert_string_equal(call_log, "aa");
}

static htone_status two_dimensions(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  (void)user;
  const int64_t shape[] = {1, 2};
  return htone_reshape(gradient, 2, shape, out_gradient);
}

static void a_replaced_gradient_keeps_its_shape(void** state) {
  (void)state;
  htone_hook* hook = NULL;
  htone_tensor* x = leaf(ones());
  assert_ok(htone_tensor_add_gradient_hook(x, two_dimensions, NULL, NULL, &hook));
  keep_hook(hook);
  assert_fails(htone_tensor_backward(sum_of(x), NULL, 0), HTONE_ERROR_SHAPE_MISMATCH, "gradient hook");
  assert_fails(htone_tensor_add_gradient_hook(ones(), on_gradient, NULL, NULL, &hook), HTONE_ERROR_STATE, "tensor");
}

/* A20 */
static void a_failed_gradient_hook_leaves_gradients_invalid(void** state) {
  (void)state;
  reset_hooks();
  htone_tensor* x = leaf(ones());
  htone_tensor* y = apply2(htone_mul, x, x);
  hooks[0].answer = HTONE_ERROR_IO;
  hook_gradient(y, &hooks[0]);
  assert_fails(htone_tensor_backward(sum_of(y), NULL, 0), HTONE_ERROR_CALLBACK, "a gradient hook returned 11 (IO)");
  assert_refuses(htone_tensor_grad(x, &out), STATE, "invalid");
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(x));
  assert_values(grad_of(x), 0, 1, 1);
}

static void a_failed_post_accumulate_hook_leaves_gradients_invalid(void** state) {
  (void)state;
  reset_hooks();
  htone_module* linear = make_linear(test_device(), 2, 1, 0);
  hooks[0].answer = HTONE_ERROR_CANCELLED;
  hook_parameter(parameter_of(linear, 0), &hooks[0]);
  htone_tensor* loss = sum_of(forward(linear, make_ramp(HTONE_F32, 2, 1, 2)));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_CALLBACK, "post-accumulate");
  assert_refuses(htone_tensor_grad(weights_of(linear, 0), &out), STATE, "invalid");
}

static htone_status step_at_once(htone_parameter* parameter, void* user) {
  htone_tensor* weights = NULL;
  htone_status status = htone_optimizer_step(user);
  if (status == HTONE_OK) status = htone_parameter_tensor(parameter, &weights);
  if (status == HTONE_OK) status = htone_tensor_zero_grad(weights);
  htone_tensor_release(weights);
  return status;
}

static htone_tensor* last_weights(htone_module** layers) { return weights_of(layers[1], 0); }

static void a_parameter_may_be_updated_as_soon_as_its_gradient_is_complete(void** state) {
  (void)state;
  htone_module* layers[] = {make_linear(test_device(), 2, 2, 0), make_linear(test_device(), 2, 1, 0)};
  htone_optimizer* optimizer = make_sgd(layers[1], 0.5);
  htone_hook* hook = NULL;
  htone_tensor *expected = NULL, *first = NULL;
  assert_ok(htone_parameter_add_post_accumulate_hook(parameter_of(layers[1], 0), step_at_once, optimizer, NULL, &hook));
  keep_hook(hook);
  htone_tensor* hidden = forward(layers[0], make_ramp(HTONE_F32, 2, 1, 2));
  assert_ok(htone_rescale(hidden, -0.5, 0, &first)); /* the gradient of the last weights is `hidden` */
  assert_ok(htone_add(last_weights(layers), keep_tensor(first), &expected));
  double* before = values_of(last_weights(layers));
  htone_tensor* loss = sum_of(forward(layers[1], hidden));
  backward(loss);
  assert_values(apply2(htone_sub, last_weights(layers), keep_tensor(expected)), 0, 0, 0);
  assert_refuses(htone_tensor_grad(last_weights(layers), &out), STATE, "no gradient");
  /* computed from the weights before the step */
  assert_values(grad_of(weights_of(layers[0], 0)), 0, 0, before[0], 0, before[1]);
  free(before);
}

/* A hook that runs another module, adds a hook and works on the same context. */
typedef struct Reentry {
  htone_module* other;
  htone_hook* added;
} Reentry;

static htone_status reenter(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out_input = call->out_tensors;
  Reentry* reentry = user;
  htone_status status = htone_module_forward(reentry->other, input, NULL, out_input);
  if (status == HTONE_OK && reentry->added == NULL) {
    status = htone_module_add_forward_pre_hook(module, before_forward, &hooks[0], NULL, &reentry->added);
  }
  return status;
}

/* A21 */
static void hooks_may_call_the_library_on_the_same_context(void** state) {
  (void)state;
  reset_hooks();
  htone_hook* hook = NULL;
  static Reentry reentry;
  reentry = (Reentry){.other = make_linear(test_device(), 2, 2, 0)};
  htone_module* linear = make_linear(test_device(), 2, 1, 0);
  assert_ok(htone_module_add_forward_pre_hook(linear, reenter, &reentry, NULL, &hook));
  keep_hook(hook);
  forward(linear, make_ramp(HTONE_F32, 2, 1, 2));
  keep_hook(reentry.added);
  assert_string_equal(call_log, ""); /* the new hook first runs in the next round */
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  forward(linear, make_ramp(HTONE_F32, 2, 1, 2));
  assert_ok(htone_scope_end(scope));
  assert_string_equal(call_log, "a");
}

/* Threads run one module while the main thread removes hooks. */
typedef struct Runner {
  htone_module* module;
  htone_tensor* input;
  htone_status status;
} Runner;

static htone_status do_nothing(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  return HTONE_OK;
}

static void* run_many(void* argument) {
  Runner* runner = argument;
  for (int i = 0; i < 200 && runner->status == HTONE_OK; ++i) {
    htone_tensor* out = NULL;
    runner->status = htone_module_forward(runner->module, runner->input, NULL, &out);
    htone_tensor_release(out);
  }
  return NULL;
}

static void hooks_are_removed_while_other_threads_run_the_module(void** state) {
  (void)state;
  htone_module* relu = make_relu();
  htone_hook* added[100];
  for (size_t i = 0; i < COUNT_OF(added); ++i) {
    assert_ok(htone_module_add_forward_pre_hook(relu, do_nothing, NULL, NULL, &added[i]));
    keep_hook(added[i]);
  }
  Runner runners[2] = {{relu, ones(), HTONE_OK}, {relu, ones(), HTONE_OK}};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_many, &runners[i]), 0);
  htone_status status = HTONE_OK;
  for (size_t i = 0; i < COUNT_OF(added) && status == HTONE_OK; ++i) status = htone_hook_remove(added[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(status, HTONE_OK);
  for (int i = 0; i < 2; ++i) assert_int_equal(runners[i].status, HTONE_OK);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward_hooks_replace_in_the_order_of_registration),
      cmocka_unit_test(a_removed_hook_is_not_called),
      cmocka_unit_test(a_hook_may_remove_itself_and_the_next_one),
      cmocka_unit_test(releasing_the_handle_leaves_the_hook),
      cmocka_unit_test(a35_a_hook_is_destroyed_with_its_module_although_its_handle_is_kept),
      cmocka_unit_test(a35_a_hook_is_destroyed_with_its_tensor_or_parameter_although_its_handle_is_kept),
      cmocka_unit_test(a_failed_forward_hook_stops_the_forward),
      cmocka_unit_test(a_gradient_hook_sees_the_whole_gradient_once_and_may_replace_it),
      cmocka_unit_test(a_leafs_gradient_hook_sees_what_is_added),
      cmocka_unit_test(a_replaced_gradient_keeps_its_shape),
      cmocka_unit_test(a_failed_gradient_hook_leaves_gradients_invalid),
      cmocka_unit_test(a_failed_post_accumulate_hook_leaves_gradients_invalid),
      cmocka_unit_test(a_parameter_may_be_updated_as_soon_as_its_gradient_is_complete),
      cmocka_unit_test(hooks_may_call_the_library_on_the_same_context),
      cmocka_unit_test(hooks_are_removed_while_other_threads_run_the_module),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
