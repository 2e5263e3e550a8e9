/* Functions and modules of the caller's own: gradients through them, what they are handed and may hand back, failures
 * on every way, and how long they live.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

/* x^2, or several faults of it. */
typedef struct Square {
  htone_function* function;
  int calls;
  int destroyed;
  htone_status answer;                                                      /* of the next backward */
  htone_status (*instead)(const htone_backward_call* call, struct Square*); /* optional */
} Square;

static htone_status square_gradient(const htone_backward_call* call, htone_tensor** out) {
  htone_tensor* half = NULL;
  htone_status status = htone_mul(call->grad_outputs[0], call->saved[0], &half);
  if (status == HTONE_OK) status = htone_add(half, half, out);
  htone_tensor_release(half);
  return status;
}

static htone_status square_backward(const htone_backward_call* call, void* user) {
  Square* square = user;
  ++square->calls;
  if (square->answer != HTONE_OK) return square->answer;
  if (square->instead != NULL) return square->instead(call, square);
  return square_gradient(call, &call->out_grad_inputs[0]);
}

static void square_destroy(void* user) { ++((Square*)user)->destroyed; }

static void make_square(Square* square) {
  memset(square, 0, sizeof *square);
  assert_ok(htone_function_create("square", square_backward, square, square_destroy, &square->function));
  keep_function(square->function);
}

/* Recorded: the square of x, which is saved. */
static htone_status square_of(htone_function* function, htone_tensor* x, htone_tensor** out) {
  htone_tensor* values = NULL;
  htone_status status = htone_mul(x, x, &values);
  if (status == HTONE_OK) status = htone_function_record(function, 1, &x, 1, &values, 1, &x, out);
  htone_tensor_release(values);
  return status;
}

static htone_tensor* squared(Square* square, htone_tensor* x) {
  htone_tensor* out = NULL;
  assert_ok(square_of(square->function, x, &out));
  return keep_tensor(out);
}

static htone_tensor* ramp_leaf(void) { return leaf(make_ramp(HTONE_F32, 1, 3)); }

static void gradients_go_through_the_callers_backward_alone(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = squared(&square, squared(&square, x)); /* x^4 */
  assert_values(y, 0, 0, 1, 16);
  backward(sum_of(apply2(htone_add, y, x)));
  assert_values(grad_of(x), 0, 1, 5, 33);
  assert_int_equal(square.calls, 2);
}

static void nothing_is_recorded_without_a_reason(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  assert_int_equal(requires_grad(squared(&square, make_ramp(HTONE_F32, 1, 3))), 0);
  htone_scope* scope = NULL;
  htone_tensor* x = ramp_leaf();
  assert_ok(htone_no_grad_begin(&scope));
  htone_tensor* y = squared(&square, x);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(requires_grad(y), 0);
  assert_int_equal(requires_grad(squared(&square, x)), 1);
}

/* a - b and, as integers, which of them is larger. */
static htone_status difference_backward(const htone_backward_call* call, void* user) {
  int* missing = user;
  assert_int_equal(call->struct_size, sizeof *call);
  assert_int_equal(call->input_count, 2);
  assert_int_equal(call->output_count, 2);
  assert_int_equal(call->saved_count, 0);
  assert_int_equal(call->needs_grad[0], 0);
  assert_int_equal(call->needs_grad[1], 1);
  *missing += call->grad_outputs[1] == NULL;
  call->out_grad_inputs[0] = call->grad_outputs[0]; /* not asked for, and dropped */
  if (htone_tensor_retain(call->grad_outputs[0]) != HTONE_OK) return HTONE_INTERNAL;
  return htone_rescale(call->grad_outputs[0], -1, 0, &call->out_grad_inputs[1]);
}

static void functions_have_several_inputs_and_outputs(void** state) {
  (void)state;
  int missing = 0;
  htone_function* function = NULL;
  assert_ok(htone_function_create("difference", difference_backward, &missing, NULL, &function));
  keep_function(function);
  htone_tensor *a = make_ramp(HTONE_F32, 1, 2), *b = leaf(make_tensor(HTONE_F32, (const double[]){3, 0}, 1, 2));
  htone_tensor* inputs[] = {a, b};
  htone_tensor* outputs[] = {apply2(htone_sub, a, b), make_tensor(HTONE_I64, (const double[]){1, 0}, 1, 2)};
  htone_tensor* results[2] = {NULL, NULL};
  assert_ok(htone_function_record(function, 2, inputs, 2, outputs, 0, NULL, results));
  keep_tensor(results[0]);
  assert_int_equal(requires_grad(keep_tensor(results[1])), 0);
  assert_values(results[0], 0, -3, 1);
  assert_values(results[1], 0, 1, 0);
  backward(sum_of(apply2(htone_mul, results[0], make_tensor(HTONE_F32, (const double[]){5, 7}, 1, 2))));
  assert_values(grad_of(b), 0, -5, -7);
  assert_int_equal(missing, 1);
}

static htone_status leave_nothing(const htone_backward_call* call, Square* square) {
  (void)call, (void)square;
  return HTONE_OK;
}

static void a_gradient_that_is_not_handed_back_is_zero(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = leave_nothing;
  htone_tensor* x = ramp_leaf();
  backward(sum_of(apply2(htone_add, squared(&square, x), x)));
  assert_values(grad_of(x), 0, 1, 1, 1);
}

static htone_status in_double(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_cast(call->grad_outputs[0], HTONE_F64, &call->out_grad_inputs[0]);
}
static htone_status of_another_shape(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_sum(call->grad_outputs[0], 0, NULL, 0, &call->out_grad_inputs[0]);
}
static htone_status in_integers(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_cast(call->grad_outputs[0], HTONE_I32, &call->out_grad_inputs[0]);
}
static htone_status a_module(const htone_backward_call* call, Square* square) {
  call->out_grad_inputs[0] = (htone_tensor*)(void*)square->function;
  return HTONE_OK;
}

static void handed_back_gradients_are_looked_at(void** state) {
  (void)state;
  static const struct {
    htone_status (*instead)(const htone_backward_call*, Square*);
    htone_status expected;
    const char* text;
  } cases[] = {
      {of_another_shape, HTONE_SHAPE_MISMATCH, "square: gradient of input 0 is [], expected [3]"},
      {in_integers, HTONE_DTYPE_MISMATCH, "square: gradient of input 0 is i32"},
      {a_module, HTONE_INVALID_HANDLE, "backward of square left a function, expected a tensor"},
  };
  static Square square;
  make_square(&square);
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    htone_tensor* x = ramp_leaf();
    square.instead = cases[i].instead;
    assert_fails(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0), cases[i].expected, cases[i].text);
  }
  htone_tensor* x = ramp_leaf();
  square.instead = in_double; /* another float converts */
  backward(sum_of(squared(&square, x)));
  assert_int_equal(dtype_of(grad_of(x)), HTONE_F32);
  assert_values(grad_of(x), 0, 1, 1, 1);
}

static int native_code(void) {
  htone_error_info info = {.struct_size = sizeof info};
  assert_ok(htone_error_last(&info));
  return info.native_code;
}

/* A20 */
static void a_failed_backward_tells_the_code_and_invalidates_gradients(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor *x = ramp_leaf(), *out = NULL;
  htone_tensor* y = sum_of(squared(&square, x));
  square.answer = HTONE_IO;
  assert_fails(htone_tensor_backward(y, NULL, 1), HTONE_CALLBACK, "backward of square answered 11 (IO)");
  assert_int_equal(native_code(), HTONE_IO);
  assert_fails(htone_tensor_grad(x, &out), HTONE_STATE, "invalid");
  square.answer = 4711;
  assert_fails(htone_tensor_backward(y, NULL, 1), HTONE_CALLBACK, "4711 (UNKNOWN)");
  assert_int_equal(native_code(), 4711);
  square.answer = HTONE_OK;
  assert_ok(htone_tensor_zero_grad(x));
  backward(y);
  assert_values(grad_of(x), 0, 0, 2, 4);
}

static htone_status add_what_does_not_fit(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_matmul(call->saved[0], call->grad_outputs[0], &call->out_grad_inputs[0]);
}

static void a_failure_that_is_passed_on_keeps_its_message(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = add_what_does_not_fit;
  htone_tensor* y = sum_of(squared(&square, ramp_leaf()));
  assert_fails(htone_tensor_backward(y, NULL, 1), HTONE_CALLBACK,
               "backward of square answered 5 (SHAPE_MISMATCH): htone_matmul: a");
  square.instead = NULL;
  square.answer = HTONE_SHAPE_MISMATCH; /* of the callback's own: nothing stale is told */
  htone_error_info info = {.struct_size = sizeof info};
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_CALLBACK, "answered 5 (SHAPE_MISMATCH)");
  assert_ok(htone_error_last(&info));
  assert_null(strstr(info.message, "htone_matmul"));
}

static htone_status release_what_was_lent(const htone_backward_call* call, Square* square) {
  (void)square;
  call->out_grad_inputs[0] = call->grad_outputs[0]; /* without a reference of its own */
  return htone_tensor_release(call->saved[0]);
}

/* A21 */
static void a_callback_that_gives_back_what_it_borrowed_harms_nothing(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = release_what_was_lent;
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  const int64_t before = live_handles();
  assert_ok(htone_tensor_backward(y, NULL, 1));
  backward(y);
  assert_int_equal(live_handles(), before);
  assert_values(grad_of(x), 0, 2, 2, 2);
}

static htone_status fail_with_a_gradient(const htone_backward_call* call, Square* square) {
  (void)square;
  const htone_status status = square_gradient(call, &call->out_grad_inputs[0]);
  return status == HTONE_OK ? HTONE_CANCELLED : status;
}

static void gradients_of_a_failed_backward_are_given_back(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = fail_with_a_gradient;
  htone_tensor* y = sum_of(squared(&square, ramp_leaf()));
  const int64_t before = live_handles();
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_CALLBACK, "CANCELLED");
  assert_int_equal(live_handles(), before);
}

static void a_saved_tensor_that_was_written_stops_backward(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  assert_ok(htone_tensor_write(x, HTONE_F64, (const double[]){1, 1, 1}, 3 * sizeof(double)));
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_STATE, "written");
  assert_int_equal(square.calls, 0);
}

static void backward_runs_again_where_the_graph_was_retained(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  assert_ok(htone_tensor_backward(y, NULL, 1));
  backward(y);
  assert_values(grad_of(x), 0, 0, 4, 8);
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_STATE, "before");
  assert_int_equal(square.calls, 2);
}

static htone_status record_inside(const htone_backward_call* call, Square* square) {
  htone_tensor* out = NULL;
  htone_tensor* x = call->saved[0];
  return htone_function_record(square->function, 1, &x, 1, &x, 0, NULL, &out);
}
static htone_tensor* other_loss;
static htone_status run_backward_inside(const htone_backward_call* call, Square* square) {
  (void)call, (void)square;
  return htone_tensor_backward(other_loss, NULL, 0);
}
static htone_status require_a_gradient_inside(const htone_backward_call* call, Square* square) {
  (void)square;
  int32_t required = -1;
  htone_tensor *x = NULL, *y = NULL;
  htone_status status = htone_rescale(call->saved[0], 1, 0, &x);
  if (status == HTONE_OK) status = htone_tensor_set_requires_grad(x, 1);
  if (status == HTONE_OK) status = htone_mul(x, x, &y);
  if (status == HTONE_OK) status = htone_tensor_requires_grad(y, &required);
  htone_tensor_release(x);
  htone_tensor_release(y);
  return status == HTONE_OK && required != 0 ? HTONE_INTERNAL : status;
}

static void gradients_of_gradients_are_refused(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  other_loss = sum_of(apply2(htone_mul, x, x));
  square.instead = record_inside;
  assert_fails(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0), HTONE_CALLBACK, "13 (STATE)");
  square.instead = run_backward_inside;
  assert_fails(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0), HTONE_CALLBACK, "13 (STATE)");
  square.instead = require_a_gradient_inside; /* operations on a new leaf do not record */
  assert_ok(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0));
  assert_ok(htone_tensor_zero_grad(x));
  backward(other_loss);
  assert_values(grad_of(x), 0, 0, 2, 4);
}

static void user_data_is_destroyed_once_with_the_last_graph(void** state) {
  (void)state;
  Square square = {NULL, 0, 0, HTONE_OK, NULL};
  htone_tensor *x = ramp_leaf(), *y = NULL;
  assert_ok(htone_function_create("square", square_backward, &square, square_destroy, &square.function));
  assert_ok(square_of(square.function, x, &y));
  assert_ok(htone_function_release(square.function));
  assert_int_equal(square.destroyed, 0);
  assert_ok(htone_tensor_backward(y, make_ramp(HTONE_F32, 1, 3), 0));
  assert_int_equal(square.destroyed, 0);
  assert_ok(htone_tensor_release(y));
  assert_int_equal(square.destroyed, 1);
  assert_fails(htone_function_create("", square_backward, &square, square_destroy, &square.function),
               HTONE_INVALID_ARGUMENT, "name is empty");
  assert_fails(htone_module_create_custom(NULL, &square, square_destroy, NULL), HTONE_INVALID_ARGUMENT, "callback");
  assert_int_equal(square.destroyed, 1);
}

/* The same tensor goes in and comes out: a node without arithmetic. */
typedef struct DeepGraph {
  htone_tensor* x;
  htone_function* function;
  int depth;
  htone_status status;
} DeepGraph;

static htone_status pass_on(const htone_backward_call* call, void* user) {
  ++*(int*)user;
  call->out_grad_inputs[0] = call->grad_outputs[0];
  return htone_tensor_retain(call->grad_outputs[0]);
}

static void* run_deep_graph(void* argument) {
  DeepGraph* graph = argument;
  htone_tensor* y = graph->x;
  graph->status = htone_tensor_retain(y);
  for (int i = 0; i < graph->depth && graph->status == HTONE_OK; ++i) {
    htone_tensor* next = NULL;
    graph->status = htone_function_record(graph->function, 1, &y, 1, &y, 1, &y, &next);
    htone_tensor_release(y);
    y = next;
  }
  if (graph->status == HTONE_OK) graph->status = htone_tensor_backward(y, NULL, 0);
  htone_tensor_release(y);
  return NULL;
}

/* A28 */
static void a_graph_of_a_million_functions_needs_little_stack(void** state) {
  (void)state;
  int calls = 0;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  const int depth = 100000;
#else
  const int depth = 1000000;
#endif
  DeepGraph graph = {.x = leaf(make_scalar(HTONE_F32, 1)), .depth = depth};
  pthread_attr_t attributes;
  pthread_t thread;
  assert_ok(htone_function_create("pass_on", pass_on, &calls, NULL, &graph.function));
  keep_function(graph.function);
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run_deep_graph, &graph), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  assert_int_equal(graph.status, HTONE_OK);
  assert_int_equal(calls, depth);
  assert_values(grad_of(graph.x), 0, 1);
}

/* A layer of the caller's: input * scale, then a part. */
typedef struct Scaling {
  htone_module* module;
  htone_module* part;
  htone_parameter* scale;
  int destroyed;
  int was_training;
  htone_status answer;
  int leaves_nothing;
} Scaling;

static htone_status scaling_forward(htone_module* module, htone_tensor* input, htone_tensor** out, void* user) {
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
  assert_ok(htone_module_create_custom(scaling_forward, scaling, scaling_destroy, &scaling->module));
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
  htone_optimizer* optimizer = NULL;
  htone_sgd_options options;
  assert_ok(htone_sgd_options_init(&options));
  options.lr = 0.5;
  assert_ok(htone_optimizer_create_sgd(model, &options, &optimizer));
  keep_optimizer(optimizer);
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
  assert_ok(htone_module_train(model, 0));
  assert_ok(htone_module_is_training(scaling.part, &training));
  assert_int_equal(training, 0);
  forward(model, make_ramp(HTONE_F32, 2, 1, 2));
  assert_int_equal(scaling.was_training, 0);
}

static void a_module_takes_no_name_twice_no_dot_and_not_itself(void** state) {
  (void)state;
  static Scaling scaling;
  make_scaling(&scaling);
  htone_module* model = make_sequential(1, &scaling.module);
  htone_tensor* tensor = make_scalar(HTONE_F32, 0);
  assert_fails(htone_module_add_buffer(scaling.module, "scale", tensor), HTONE_INVALID_ARGUMENT, "already");
  assert_fails(htone_module_add_child(scaling.module, "scale", scaling.part), HTONE_INVALID_ARGUMENT, "already");
  assert_fails(htone_module_add_parameter(scaling.module, "inner", scaling.scale), HTONE_INVALID_ARGUMENT, "already");
  assert_fails(htone_module_add_buffer(scaling.module, "a.b", tensor), HTONE_INVALID_ARGUMENT, "dot");
  assert_fails(htone_module_add_child(scaling.module, "itself", scaling.module), HTONE_INVALID_ARGUMENT, "child");
  assert_fails(htone_module_add_child(scaling.module, "around", model), HTONE_INVALID_ARGUMENT, "child");
  assert_fails(htone_module_add_buffer(model, "seen", tensor), HTONE_STATE, "custom");
  htone_tensor* x = leaf(make_scalar(HTONE_F32, 0));
  assert_fails(htone_module_add_buffer(scaling.module, "seen", apply2(htone_mul, x, x)), HTONE_STATE, "tensor");
  size_t count = 0;
  assert_ok(htone_module_parameter_count(scaling.module, &count));
  assert_int_equal(count, 2);
}

/* A20 */
static void a_failed_forward_tells_the_code(void** state) {
  (void)state;
  static Scaling scaling;
  make_scaling(&scaling);
  htone_tensor *out = NULL, *input = make_ramp(HTONE_F32, 2, 1, 2);
  scaling.answer = HTONE_CANCELLED;
  assert_fails(htone_module_forward(make_sequential(1, &scaling.module), input, NULL, &out), HTONE_CALLBACK,
               "CANCELLED");
  assert_int_equal(native_code(), HTONE_CANCELLED);
  scaling.leaves_nothing = 1;
  assert_fails(htone_module_forward(scaling.module, input, NULL, &out), HTONE_INVALID_HANDLE, "left no output");
  assert_null(out);
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
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_BF16); /* of the linear part */
}

static void a_module_destroys_its_user_data_once(void** state) {
  (void)state;
  Scaling scaling = {.destroyed = 0};
  htone_module* model = NULL;
  assert_ok(htone_module_create_custom(scaling_forward, &scaling, scaling_destroy, &scaling.module));
  assert_ok(htone_module_create_sequential(1, &scaling.module, &model));
  assert_ok(htone_module_release(scaling.module));
  assert_int_equal(scaling.destroyed, 0);
  assert_ok(htone_module_release(model));
  assert_int_equal(scaling.destroyed, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_go_through_the_callers_backward_alone),
      cmocka_unit_test(nothing_is_recorded_without_a_reason),
      cmocka_unit_test(functions_have_several_inputs_and_outputs),
      cmocka_unit_test(a_gradient_that_is_not_handed_back_is_zero),
      cmocka_unit_test(handed_back_gradients_are_looked_at),
      cmocka_unit_test(a_failed_backward_tells_the_code_and_invalidates_gradients),
      cmocka_unit_test(a_failure_that_is_passed_on_keeps_its_message),
      cmocka_unit_test(a_callback_that_gives_back_what_it_borrowed_harms_nothing),
      cmocka_unit_test(gradients_of_a_failed_backward_are_given_back),
      cmocka_unit_test(a_saved_tensor_that_was_written_stops_backward),
      cmocka_unit_test(backward_runs_again_where_the_graph_was_retained),
      cmocka_unit_test(gradients_of_gradients_are_refused),
      cmocka_unit_test(user_data_is_destroyed_once_with_the_last_graph),
      cmocka_unit_test(a_graph_of_a_million_functions_needs_little_stack),
      cmocka_unit_test(a_module_of_the_callers_trains_like_any_other),
      cmocka_unit_test(its_state_and_mode_reach_parameters_buffers_and_children),
      cmocka_unit_test(a_module_takes_no_name_twice_no_dot_and_not_itself),
      cmocka_unit_test(a_failed_forward_tells_the_code),
      cmocka_unit_test(autocast_reaches_the_callback),
      cmocka_unit_test(a_module_destroys_its_user_data_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
