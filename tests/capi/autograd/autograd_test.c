/* Backward through the C API: accumulation, scopes, detached tensors, calls in the wrong order. */
#include <pthread.h>

#include "test_tensors.h"

static htone_scope* begin_no_grad(void) {
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  return scope;
}

static void backward_adds_until_the_gradient_is_zeroed(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){2}, 1, 1));
  assert_refuses(htone_tensor_grad(x, &out), STATE, "");
  backward(sum_of(apply2(htone_mul, x, x)));
  htone_tensor* gradient = grad_of(x);
  backward(sum_of(apply2(htone_mul, x, x)));
  assert_values(gradient, 0, 8);
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(x));
  assert_values(grad_of(x), 0, 1);
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
  assert_refuses(htone_tensor_grad(x, &out), STATE, "");
  assert_ok(htone_tensor_zero_grad(x));
  backward(sum_of(apply2(htone_mul, x, factor)));
  assert_values(grad_of(x), 0, 0, 9, 2, 3);
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

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(backward_adds_until_the_gradient_is_zeroed),
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
      cmocka_unit_test(a_result_that_backward_needs_is_not_written),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
