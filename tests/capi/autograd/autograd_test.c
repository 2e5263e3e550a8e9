/* Gradients of small graphs against values computed by hand, scopes, calls in the wrong order, and very deep graphs. */
#include <math.h>
#include <pthread.h>

#include "test_tensors.h"

static htone_scope* begin_no_grad(void) {
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  return scope;
}

static void backward_reaches_every_factor(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){2, 3}, 1, 2));
  htone_tensor* y = leaf(make_tensor(HTONE_F32, (const double[]){5, 7}, 1, 2));
  htone_tensor* z = apply2(htone_sub, apply2(htone_mul, x, y), apply2(htone_div, x, y)); /* x y - x / y */
  assert_int_equal(requires_grad(z), 1);
  backward(sum_of(z));
  assert_values(grad_of(x), 1e-6, 5 - 1.0 / 5, 7 - 1.0 / 7);
  assert_values(grad_of(y), 1e-6, 2 + 2.0 / 25, 3 + 3.0 / 49);
}

static void a_tensor_used_twice_gets_both_gradients(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){3}, 1, 1));
  htone_tensor* square = apply2(htone_mul, x, x);
  backward(sum_of(apply2(htone_add, apply2(htone_mul, square, x), square))); /* x^3 + x^2 */
  assert_values(grad_of(x), 0, 3 * 9 + 2 * 3);
}

static void gradients_sum_over_what_was_broadcast(void** state) {
  (void)state;
  htone_tensor* column = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 2, 2, 1));
  htone_tensor* row = leaf(make_tensor(HTONE_F32, (const double[]){10, 20, 30}, 1, 3));
  htone_tensor* scalar = leaf(make_scalar(HTONE_F32, 4));
  backward(sum_of(apply2(htone_mul, apply2(htone_mul, column, row), scalar)));
  assert_shape(grad_of(column), 2, 1);
  assert_values(grad_of(column), 0, 240, 240);
  assert_values(grad_of(row), 0, 12, 12, 12);
  assert_scalar(grad_of(scalar));
  assert_values(grad_of(scalar), 0, 180);
}

static void gradients_flow_through_views_and_casts(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_BF16, 2, 2, 3));
  htone_tensor* part = slice_of(transpose_of(x, 0, 1), 0, 0, 3, 2);
  htone_tensor* weights = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4}, 2, 2, 2);
  backward(sum_of(apply2(htone_mul, cast_of(part, HTONE_F32), weights)));
  assert_int_equal(dtype_of(grad_of(x)), HTONE_BF16);
  assert_values(grad_of(x), 0, 1, 0, 3, 2, 0, 4);
}

static void gradients_of_a_matrix_product_are_products(void** state) {
  (void)state;
  htone_tensor* a = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 2, 1, 2));
  htone_tensor* b = leaf(make_tensor(HTONE_F32, (const double[]){3, 4, 5, 6}, 2, 2, 2));
  htone_tensor* c = apply2(htone_matmul, a, b);
  htone_tensor* gradient = make_tensor(HTONE_F32, (const double[]){10, 100}, 2, 1, 2);
  assert_ok(htone_tensor_backward(c, gradient, 0));
  assert_values(grad_of(a), 0, 430, 650);
  assert_values(grad_of(b), 0, 10, 100, 20, 200);
}

static void backward_adds_until_the_gradient_is_zeroed(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){2}, 1, 1));
  htone_tensor* out = NULL;
  assert_fails(htone_tensor_grad(x, &out), HTONE_ERROR_STATE, "");
  backward(sum_of(apply2(htone_mul, x, x)));
  htone_tensor* gradient = grad_of(x);
  backward(sum_of(apply2(htone_mul, x, x)));
  assert_values(gradient, 0, 8);
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(x));
  assert_values(grad_of(x), 0, 1);
}

/* zero_grad releases the memory of a gradient, but not while the caller holds it. */
static void a_gradient_that_is_held_keeps_its_values_until_the_next_backward(void** state) {
  (void)state;
  htone_tensor *x = leaf(make_ramp(HTONE_F32, 1, 3)), *out = NULL;
  backward(sum_of(apply2(htone_mul, x, x)));
  htone_tensor* held = grad_of(x);
  assert_ok(htone_tensor_zero_grad(x));
  assert_fails(htone_tensor_grad(x, &out), HTONE_ERROR_STATE, "no gradient");
  for (int i = 0; i < 100; ++i) make_ramp(HTONE_F32, 1, 3); /* would take released memory */
  assert_values(held, 0, 0, 2, 4);
  backward(sum_of(x));
  assert_values(held, 0, 1, 1, 1);
}

static void a_leaf_can_stop_asking_for_a_gradient(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  assert_int_equal(requires_grad(x), 1);
  assert_ok(htone_tensor_set_requires_grad(x, 0));
  assert_int_equal(requires_grad(x), 0);
  assert_int_equal(requires_grad(sum_of(x)), 0);
}

static void only_float_leaves_may_ask_for_a_gradient(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  assert_fails(htone_tensor_set_requires_grad(make_ramp(HTONE_I32, 1, 2), 1), HTONE_ERROR_DTYPE_MISMATCH, "tensor");
  assert_fails(htone_tensor_set_requires_grad(make_ramp(HTONE_F8E4M3, 1, 2), 1), HTONE_ERROR_DTYPE_MISMATCH, "tensor");
  assert_fails(htone_tensor_set_requires_grad(sum_of(x), 0), HTONE_ERROR_STATE, "tensor");
}

static void nothing_is_recorded_under_no_grad(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_scope* outer = begin_no_grad();
  htone_scope* inner = begin_no_grad();
  assert_int_equal(requires_grad(sum_of(x)), 0);
  assert_ok(htone_scope_end(inner));
  assert_int_equal(requires_grad(sum_of(x)), 0);
  assert_ok(htone_scope_end(outer));
  assert_int_equal(requires_grad(sum_of(x)), 1);
  assert_int_equal(requires_grad(x), 1);
}

static void a_scope_ends_once_and_in_order(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_scope* outer = begin_no_grad();
  htone_scope* inner = begin_no_grad();
  assert_fails(htone_scope_end(outer), HTONE_ERROR_STATE, "scope");
  assert_int_equal(requires_grad(sum_of(x)), 0);
  assert_ok(htone_scope_end(inner));
  assert_ok(htone_scope_end(outer));
  assert_fails(htone_scope_end(outer), HTONE_ERROR_INVALID_HANDLE, "scope");
}

typedef struct Visit {
  htone_scope* scope;
  htone_tensor* tensor;
  htone_status ended, computed;
  int32_t recorded;
} Visit;

static void* visit_from_another_thread(void* argument) {
  Visit* visit = argument;
  htone_tensor* out = NULL;
  visit->ended = htone_scope_end(visit->scope);
  visit->computed = htone_mul(visit->tensor, visit->tensor, &out);
  if (visit->computed == HTONE_OK) visit->computed = htone_tensor_requires_grad(out, &visit->recorded);
  htone_tensor_release(out);
  return NULL;
}

static void a_scope_belongs_to_its_thread(void** state) {
  (void)state;
  Visit visit = {.tensor = leaf(make_ramp(HTONE_F32, 1, 2)), .scope = begin_no_grad()};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, visit_from_another_thread, &visit), 0);
  pthread_join(thread, NULL);
  assert_int_equal(visit.ended, HTONE_ERROR_STATE);
  assert_int_equal(visit.computed, HTONE_OK);
  assert_int_equal(visit.recorded, 1);
  assert_int_equal(requires_grad(sum_of(visit.tensor)), 0);
  assert_ok(htone_scope_end(visit.scope));
}

typedef struct LeftScopes {
  htone_scope *recording, *autocast;
  htone_status begun;
} LeftScopes;

static void* leave_scopes_open(void* argument) {
  LeftScopes* left = argument;
  htone_autocast_policy* policy = NULL;
  left->begun = htone_no_grad_begin(&left->recording);
  if (left->begun == HTONE_OK) left->begun = htone_autocast_policy_create(HTONE_BF16, &policy);
  if (left->begun == HTONE_OK) left->begun = htone_autocast_begin(policy, &left->autocast);
  htone_autocast_policy_release(policy);
  return NULL;
}

/* Its modes are gone with the thread, and those of the thread that ends the scope stay. */
static void a34_a_scope_of_a_thread_that_ended_is_ended_by_any_thread(void** state) {
  (void)state;
  LeftScopes left = {NULL, NULL, HTONE_ERROR_INTERNAL};
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_scope* own = begin_no_grad();
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, leave_scopes_open, &left), 0);
  pthread_join(thread, NULL);
  assert_ok(left.begun);
  assert_ok(htone_scope_end(left.recording)); /* the outer one first: no modes depend on the order any more */
  assert_ok(htone_scope_end(left.autocast));
  assert_int_equal(requires_grad(sum_of(x)), 0);
  assert_ok(htone_scope_end(own));
  assert_int_equal(requires_grad(sum_of(x)), 1);
  assert_fails(htone_scope_end(left.recording), HTONE_ERROR_INVALID_HANDLE, "scope");
}

static void a_detached_tensor_shares_values_and_no_gradient(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){3}, 1, 1));
  htone_tensor* cut = apply1(htone_tensor_detach, apply2(htone_mul, x, x));
  assert_int_equal(requires_grad(cut), 0);
  backward(sum_of(apply2(htone_mul, cut, x)));
  assert_values(grad_of(x), 0, 9);
  assert_ok(htone_tensor_fill(apply1(htone_tensor_detach, x), 5));
  assert_values(x, 0, 5);
}

/* A16 */
static void backward_needs_a_recorded_scalar_or_a_gradient(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  htone_tensor* y = apply2(htone_mul, x, x);
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_ERROR_STATE, "scalar");
  assert_fails(htone_tensor_backward(y, make_ramp(HTONE_F32, 1, 2), 0), HTONE_ERROR_SHAPE_MISMATCH, "gradient");
  assert_fails(htone_tensor_backward(y, make_ramp(HTONE_I32, 1, 3), 0), HTONE_ERROR_DTYPE_MISMATCH, "gradient");
  assert_fails(htone_tensor_backward(sum_of(make_ramp(HTONE_F32, 1, 3)), NULL, 0), HTONE_ERROR_STATE, "tensor");
  assert_ok(htone_tensor_backward(y, make_tensor(HTONE_F32, (const double[]){1, 10, 100}, 1, 3), 0));
  assert_values(grad_of(x), 0, 0, 20, 400);
}

/* A16 */
static void backward_runs_again_only_where_the_graph_was_retained(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){3}, 1, 1));
  htone_tensor* loss = sum_of(apply2(htone_mul, x, x));
  assert_ok(htone_tensor_backward(loss, NULL, 1));
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_values(grad_of(x), 0, 12);
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "retain_graph");
  assert_values(grad_of(x), 0, 12);
}

/* A15 */
static void a_changed_tensor_that_was_saved_stops_backward(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 4));
  htone_tensor* factor = make_ramp(HTONE_F32, 1, 4);
  htone_tensor* loss = sum_of(apply2(htone_mul, x, factor));
  assert_ok(htone_tensor_fill(slice_of(factor, 0, 1, 2, 1), 9)); /* through a view of the same storage */
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "");
  htone_tensor* out = NULL;
  assert_fails(htone_tensor_grad(x, &out), HTONE_ERROR_STATE, "");
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(apply2(htone_mul, x, factor)));
  assert_values(grad_of(x), 0, 0, 9, 2, 3);
}

static void a_changed_tensor_that_was_not_saved_is_no_matter(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* term = make_ramp(HTONE_F32, 1, 2);
  htone_tensor* loss = sum_of(apply2(htone_add, x, term));
  assert_ok(htone_tensor_fill(term, 9));
  backward(loss);
  assert_values(grad_of(x), 0, 1, 1);
}

static void a_result_that_backward_needs_is_not_written(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* y = apply2(htone_mul, x, x);
  const float values[2] = {7, 7};
  assert_fails(htone_tensor_write(y, HTONE_F32, values, sizeof values), HTONE_ERROR_STATE, "tensor");
  assert_fails(htone_tensor_fill(y, 7), HTONE_ERROR_STATE, "tensor");
  assert_fails(htone_init_uniform(y, 0, 1), HTONE_ERROR_STATE, "tensor");
  assert_fails(htone_init_normal(y, 0, 1), HTONE_ERROR_STATE, "tensor");
  assert_values(y, 0, 0, 1);
  assert_ok(htone_tensor_write(x, HTONE_F32, values, sizeof values));
}

enum { kDeep = 100000 };

typedef struct DeepGraph {
  htone_tensor *x, *term;
  htone_status status;
  double gradient;
} DeepGraph;

static htone_status chain_of_adds(htone_tensor* x, htone_tensor* term, htone_tensor** out) {
  htone_status status = htone_add(x, term, out);
  for (int i = 1; i < kDeep && status == HTONE_OK; ++i) {
    htone_tensor* next = NULL;
    status = htone_add(*out, term, &next);
    htone_tensor_release(*out);
    *out = next;
  }
  return status;
}

/* Runs one deep graph through backward and releases another one without backward. */
static void* run_deep_graph(void* argument) {
  DeepGraph* graph = argument;
  htone_tensor *out = NULL, *abandoned = NULL, *gradient = NULL;
  graph->status = chain_of_adds(graph->x, graph->term, &out);
  if (graph->status == HTONE_OK) graph->status = htone_tensor_backward(out, NULL, 0);
  if (graph->status == HTONE_OK) graph->status = htone_tensor_grad(graph->x, &gradient);
  if (graph->status == HTONE_OK) graph->status = htone_tensor_item(gradient, &graph->gradient);
  if (graph->status == HTONE_OK) graph->status = chain_of_adds(graph->x, graph->term, &abandoned);
  htone_tensor_release(abandoned);
  htone_tensor_release(gradient);
  htone_tensor_release(out);
  return NULL;
}

static void a_graph_of_a_hundred_thousand_nodes_needs_little_stack(void** state) {
  (void)state;
  DeepGraph graph = {.x = leaf(make_scalar(HTONE_F32, 1)), .term = make_scalar(HTONE_F32, 1), .gradient = -1};
  run_on_stack_of(256 * 1024, run_deep_graph, &graph);
  assert_int_equal(graph.status, HTONE_OK);
  assert_near(graph.gradient, 1, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(backward_reaches_every_factor),
      cmocka_unit_test(a_tensor_used_twice_gets_both_gradients),
      cmocka_unit_test(gradients_sum_over_what_was_broadcast),
      cmocka_unit_test(gradients_flow_through_views_and_casts),
      cmocka_unit_test(gradients_of_a_matrix_product_are_products),
      cmocka_unit_test(backward_adds_until_the_gradient_is_zeroed),
      cmocka_unit_test(a_gradient_that_is_held_keeps_its_values_until_the_next_backward),
      cmocka_unit_test(a_leaf_can_stop_asking_for_a_gradient),
      cmocka_unit_test(only_float_leaves_may_ask_for_a_gradient),
      cmocka_unit_test(nothing_is_recorded_under_no_grad),
      cmocka_unit_test(a_scope_ends_once_and_in_order),
      cmocka_unit_test(a_scope_belongs_to_its_thread),
      cmocka_unit_test(a34_a_scope_of_a_thread_that_ended_is_ended_by_any_thread),
      cmocka_unit_test(a_detached_tensor_shares_values_and_no_gradient),
      cmocka_unit_test(backward_needs_a_recorded_scalar_or_a_gradient),
      cmocka_unit_test(backward_runs_again_only_where_the_graph_was_retained),
      cmocka_unit_test(a_changed_tensor_that_was_saved_stops_backward),
      cmocka_unit_test(a_changed_tensor_that_was_not_saved_is_no_matter),
      cmocka_unit_test(a_result_that_backward_needs_is_not_written),
      cmocka_unit_test(a_graph_of_a_hundred_thousand_nodes_needs_little_stack),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
