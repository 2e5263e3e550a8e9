/* Custom functions: their gradients, inputs and outputs, graphs that run again, lifetimes. */
#include "sanitizers.h"
#include "square_function.h"

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

/* a - b and, as integers, which of the two is larger. */
static htone_status difference_backward(const htone_backward_call* call, void* user) {
  int* missing = user;
  assert_int_equal(call->struct_size, sizeof *call);
  assert_int_equal(call->input_count, 2);
  assert_int_equal(call->output_count, 2);
  assert_int_equal(call->saved_count, 0);
  assert_int_equal(call->needs_grad[0], 0);
  assert_int_equal(call->needs_grad[1], 1);
  *missing += call->grad_outputs[1] == NULL;
  call->out_grad_inputs[0] = call->grad_outputs[0]; /* not requested, so it is dropped */
  if (htone_tensor_retain(call->grad_outputs[0]) != HTONE_OK) return HTONE_ERROR_INTERNAL;
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

static void backward_runs_again_where_the_graph_was_retained(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  assert_ok(htone_tensor_backward(y, NULL, 1));
  backward(y);
  assert_values(grad_of(x), 0, 0, 4, 8);
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_ERROR_STATE, "before");
  assert_int_equal(square.calls, 2);
}

static void user_data_is_destroyed_once_with_the_last_graph(void** state) {
  (void)state;
  Square square = {NULL, 0, 0, HTONE_OK, NULL};
  htone_tensor *x = ramp_leaf(), *y = NULL;
  assert_ok(htone_function_create("square", square_backward, &square, square_destroy, &square.function));
  assert_ok(record_square(square.function, x, &y));
  assert_ok(htone_function_release(square.function));
  assert_int_equal(square.destroyed, 0);
  assert_ok(htone_tensor_backward(y, make_ramp(HTONE_F32, 1, 3), 0));
  assert_int_equal(square.destroyed, 0);
  assert_ok(htone_tensor_release(y));
  assert_int_equal(square.destroyed, 1);
  assert_fails(htone_function_create("", square_backward, &square, square_destroy, &square.function),
               HTONE_ERROR_INVALID_ARGUMENT, "name is empty");
  assert_int_equal(square.destroyed, 1);
}

/* The function returns its input: a node without arithmetic. */
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
  const int depth = HALFTONE_ANY_SANITIZER ? 100000 : 1000000;
  DeepGraph graph = {.x = leaf(make_scalar(HTONE_F32, 1)), .depth = depth};
  assert_ok(htone_function_create("pass_on", pass_on, &calls, NULL, &graph.function));
  keep_function(graph.function);
  run_on_stack_of(256 * 1024, run_deep_graph, &graph);
  assert_int_equal(graph.status, HTONE_OK);
  assert_int_equal(calls, depth);
  assert_values(grad_of(graph.x), 0, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_go_through_the_callers_backward_alone),
      cmocka_unit_test(nothing_is_recorded_without_a_reason),
      cmocka_unit_test(functions_have_several_inputs_and_outputs),
      cmocka_unit_test(backward_runs_again_where_the_graph_was_retained),
      cmocka_unit_test(user_data_is_destroyed_once_with_the_last_graph),
      cmocka_unit_test(a_graph_of_a_million_functions_needs_little_stack),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
