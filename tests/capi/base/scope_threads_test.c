/* Scopes that another thread ends, or leaves to their own thread. */
#include <pthread.h>

#include "test_scopes.h"

/* A thread that ends with an open scope. */
static void* leave_scope_open(void* scope) {
  static const int64_t shape[] = {1};
  htone_tensor* tensor = NULL;
  if (htone_handles_begin(scope) != HTONE_OK) return NULL;
  return htone_tensor_create(test_device(), HTONE_F32, 1, shape, &tensor) == HTONE_OK ? tensor : NULL;
}

static void a_scope_of_an_ended_thread_is_ended_by_another(void** state) {
  (void)state;
  pthread_t thread;
  htone_scope* scope = NULL;
  void* tensor = NULL;
  htone_scope* own = begin_handles(); /* the other thread's handles are not of this scope */
  assert_int_equal(pthread_create(&thread, NULL, leave_scope_open, &scope), 0);
  assert_int_equal(pthread_join(thread, &tensor), 0);
  assert_ok(htone_scope_end(own));
  assert_true(is_alive(tensor));
  assert_ok(htone_scope_end(scope));
  assert_false(is_alive(tensor));
}

static htone_tensor* trained_tensor(void) {
  htone_tensor* x = keep_tensor(new_tensor());
  assert_ok(htone_tensor_set_requires_grad(x, 1));
  return x;
}

static htone_scope* begin_no_grad(void) {
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  return scope;
}

typedef struct Leaving {
  htone_scope* scopes[2];
  htone_status ended, left[2];
} Leaving;

static void* leave_to_the_thread(void* argument) {
  Leaving* leaving = argument;
  leaving->ended = htone_scope_end(leaving->scopes[0]);
  for (int i = 0; i < 2; ++i) leaving->left[i] = htone_scope_end_later(leaving->scopes[i]);
  return NULL;
}

static void a34_scopes_that_another_thread_leaves_to_theirs_end_at_its_next_call(void** state) {
  (void)state;
  htone_tensor* x = trained_tensor();
  const int64_t before = live_handles();
  Leaving leaving = {{begin_handles(), begin_no_grad()}, HTONE_OK, {HTONE_OK, HTONE_OK}};
  htone_tensor* temporary = new_tensor();
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, leave_to_the_thread, &leaving), 0);
  pthread_join(thread, NULL);
  assert_int_equal(leaving.ended, HTONE_ERROR_STATE);
  assert_int_equal(leaving.left[0], HTONE_OK);
  assert_int_equal(leaving.left[1], HTONE_OK);
  assert_true(records(x));
  assert_false(is_alive(temporary));
  assert_int_equal(live_handles(), before);
  assert_fails(htone_scope_end(leaving.scopes[0]), HTONE_ERROR_INVALID_HANDLE, "scope");
}

static void a_scope_that_is_left_ends_after_the_inner_ones(void** state) {
  (void)state;
  htone_tensor* x = trained_tensor();
  htone_scope* outer = begin_no_grad();
  htone_scope* inner = begin_handles();
  assert_fails(htone_scope_end(outer), HTONE_ERROR_STATE, "end the inner ones first");
  assert_ok(htone_scope_end_later(outer));
  assert_false(records(x));
  assert_ok(htone_scope_end(inner));
  assert_true(records(x));
  htone_scope* innermost = begin_no_grad();
  assert_ok(htone_scope_end_later(innermost)); /* it can end now */
  assert_fails(htone_scope_end(innermost), HTONE_ERROR_INVALID_HANDLE, "scope");
}

typedef struct Around {
  htone_scope* scope;
  htone_tensor* x;
  int records;
} Around;

static htone_status leave_the_scope_around(htone_module* module, const htone_forward_call* call, void* user) {
  Around* around = user;
  (void)module;
  const htone_status status = htone_scope_end_later(around->scope);
  around->records = records(around->x);
  return status == HTONE_OK ? htone_relu(call->inputs[0], call->out_tensors) : status;
}

static void a_scope_that_a_callback_leaves_ends_after_the_call_that_ran_it(void** state) {
  (void)state;
  Around around = {begin_no_grad(), trained_tensor(), 1};
  htone_module* module = NULL;
  htone_tensor* out = NULL;
  assert_ok(htone_module_create_custom(leave_the_scope_around, &around, NULL, NULL, &module));
  assert_ok(htone_module_forward(keep_module(module), around.x, NULL, &out));
  keep_tensor(out);
  assert_false(around.records);
  assert_true(records(around.x));
}

typedef struct Worker {
  pthread_barrier_t begun, left;
  htone_scope *handles, *no_grad;
} Worker;

static void* end_with_left_scopes(void* argument) {
  Worker* worker = argument;
  worker->handles = begin_handles();
  new_tensor();
  worker->no_grad = begin_no_grad();
  pthread_barrier_wait(&worker->begun);
  pthread_barrier_wait(&worker->left);
  return NULL;
}

static void a34_scopes_that_were_left_end_with_their_thread(void** state) {
  (void)state;
  const int64_t before = live_handles();
  Worker worker;
  pthread_t thread;
  assert_int_equal(pthread_barrier_init(&worker.begun, NULL, 2), 0);
  assert_int_equal(pthread_barrier_init(&worker.left, NULL, 2), 0);
  assert_int_equal(pthread_create(&thread, NULL, end_with_left_scopes, &worker), 0);
  pthread_barrier_wait(&worker.begun);
  assert_ok(htone_scope_end_later(worker.handles));
  assert_ok(htone_scope_end_later(worker.no_grad));
  assert_int_equal(live_handles(), before + 3);
  pthread_barrier_wait(&worker.left);
  pthread_join(thread, NULL);
  assert_int_equal(live_handles(), before);
  pthread_barrier_destroy(&worker.begun);
  pthread_barrier_destroy(&worker.left);
}

static void a_scope_of_an_ended_thread_ends_at_once(void** state) {
  (void)state;
  const int64_t before = live_handles();
  pthread_t thread;
  htone_scope* scope = NULL;
  assert_int_equal(pthread_create(&thread, NULL, leave_scope_open, &scope), 0);
  pthread_join(thread, NULL);
  assert_int_equal(live_handles(), before + 2);
  assert_ok(htone_scope_end_later(scope));
  assert_int_equal(live_handles(), before);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_scope_of_an_ended_thread_is_ended_by_another),
      cmocka_unit_test(a34_scopes_that_another_thread_leaves_to_theirs_end_at_its_next_call),
      cmocka_unit_test(a_scope_that_is_left_ends_after_the_inner_ones),
      cmocka_unit_test(a_scope_that_a_callback_leaves_ends_after_the_call_that_ran_it),
      cmocka_unit_test(a34_scopes_that_were_left_end_with_their_thread),
      cmocka_unit_test(a_scope_of_an_ended_thread_ends_at_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
