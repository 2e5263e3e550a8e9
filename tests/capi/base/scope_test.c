/* Scopes of handles: which handles one releases, how one is kept, and scopes inside callbacks. */
#include <pthread.h>
#include <string.h>

#include "run_tests.h"

static htone_scope* begin_handles(void) {
  htone_scope* scope = NULL;
  assert_ok(htone_handles_begin(&scope));
  return scope;
}

/* A tensor that the test does not keep. */
static htone_tensor* new_tensor(void) {
  static const int64_t shape[] = {2, 2};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 1.5, &tensor));
  return tensor;
}

static int is_alive(htone_tensor* tensor) {
  int64_t count = 0;
  return htone_tensor_numel(tensor, &count) == HTONE_OK;
}

static void a_scope_releases_every_handle_that_calls_gave_in_it(void** state) {
  (void)state;
  const int64_t before = live_handles();
  htone_scope* scope = begin_handles();
  htone_tensor* a = new_tensor();
  htone_tensor *sum = NULL, *parts[2] = {NULL, NULL};
  htone_module* module = NULL;
  htone_optimizer* optimizer = NULL;
  const int64_t sizes[] = {1, 1};
  assert_ok(htone_add(a, a, &sum));
  assert_ok(htone_split(a, 0, 2, sizes, parts));
  assert_ok(htone_module_create_linear(test_device(), 2, 2, NULL, &module));
  assert_ok(htone_optimizer_create_sgd(module, NULL, &optimizer));
  assert_int_equal(live_handles(), before + 7);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(live_handles(), before);
  assert_false(is_alive(a));
}

static void a_handle_from_before_stays(void** state) {
  (void)state;
  htone_tensor* before = keep_tensor(new_tensor());
  htone_scope* scope = begin_handles();
  new_tensor();
  assert_ok(htone_keep(before)); /* the scope does not own it */
  assert_ok(htone_scope_end(scope));
  assert_true(is_alive(before));
}

static void a_kept_handle_moves_to_the_scope_around(void** state) {
  (void)state;
  htone_scope* outer = begin_handles();
  htone_scope* inner = begin_handles();
  htone_tensor* kept = new_tensor();
  htone_tensor* left = new_tensor();
  assert_ok(htone_keep(kept));
  assert_ok(htone_scope_end(inner));
  assert_true(is_alive(kept));
  assert_false(is_alive(left));
  assert_ok(htone_keep(kept));
  assert_ok(htone_scope_end(outer));
  assert_true(is_alive(keep_tensor(kept)));
}

/* With a search for each of them, these would take minutes. */
static void many_handles_are_kept_in_any_order(void** state) {
  (void)state;
  enum { kHandles = 200000 };
  static htone_context* contexts[kHandles];
  const int64_t before = live_handles();
  htone_scope* outer = begin_handles();
  htone_scope* inner = begin_handles();
  for (int i = 0; i < kHandles; ++i) assert_ok(htone_context_default(&contexts[i]));
  for (int i = 0; i < kHandles; i += 2) assert_ok(htone_keep(contexts[i]));
  for (int i = kHandles - 1; i > 0; i -= 4) assert_ok(htone_keep(contexts[i]));
  assert_ok(htone_keep(contexts[0])); /* the inner scope does not own it any more */
  assert_ok(htone_scope_end(inner));
  assert_int_equal(live_handles(), before + 1 + kHandles / 4 * 3);
  assert_ok(htone_context_retain(contexts[kHandles - 1]));
  assert_ok(htone_context_release(contexts[kHandles - 1]));
  assert_int_equal(htone_context_retain(contexts[kHandles - 3]), HTONE_ERROR_INVALID_HANDLE);
  assert_ok(htone_scope_end(outer));
  assert_int_equal(live_handles(), before);
}

static void keeping_needs_a_live_handle(void** state) {
  (void)state;
  assert_ok(htone_keep(NULL));
  htone_tensor* tensor = new_tensor();
  assert_ok(htone_keep(tensor)); /* no scope is open */
  assert_ok(htone_tensor_release(tensor));
  assert_fails(htone_keep(tensor), HTONE_ERROR_INVALID_HANDLE, "handle is no live handle");
}

static void a_handle_may_be_released_or_retained_in_its_scope(void** state) {
  (void)state;
  htone_scope* scope = begin_handles();
  htone_tensor* released = new_tensor();
  htone_tensor* retained = new_tensor();
  assert_ok(htone_tensor_release(released));
  assert_ok(htone_tensor_retain(retained));
  htone_tensor* later = new_tensor(); /* may have the table's entry of `released` */
  assert_ok(htone_scope_end(scope));
  assert_false(is_alive(later));
  assert_true(is_alive(keep_tensor(retained)));
}

static void a_long_loop_in_one_scope_ends_with_no_handle(void** state) {
  (void)state;
  const int64_t before = live_handles();
  htone_scope* scope = begin_handles();
  for (int i = 0; i < 10000; ++i) {
    htone_tensor* tensor = new_tensor();
    if (i % 100 != 0) assert_ok(htone_tensor_release(tensor));
  }
  assert_int_equal(live_handles(), before + 101);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(live_handles(), before);
}

static void modes_and_handles_nest_in_any_order(void** state) {
  (void)state;
  htone_tensor* x = keep_tensor(new_tensor());
  assert_ok(htone_tensor_set_requires_grad(x, 1));
  htone_scope* handles = begin_handles();
  htone_scope* no_grad = NULL;
  assert_ok(htone_no_grad_begin(&no_grad));
  htone_tensor *in_no_grad = NULL, *recorded = NULL;
  assert_ok(htone_mul(x, x, &in_no_grad));
  assert_fails(htone_scope_end(handles), HTONE_ERROR_STATE, "end the inner ones first");
  assert_ok(htone_scope_end(no_grad));
  assert_true(is_alive(in_no_grad));
  assert_ok(htone_mul(x, x, &recorded));
  int32_t requires_grad = 0;
  assert_ok(htone_tensor_requires_grad(recorded, &requires_grad));
  assert_int_equal(requires_grad, 1);
  assert_ok(htone_scope_end(handles));
  assert_false(is_alive(in_no_grad));
}

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

static int records(htone_tensor* x) {
  htone_tensor* out = NULL;
  int32_t requires_grad = 0;
  assert_ok(htone_mul(x, x, &out));
  assert_ok(htone_tensor_requires_grad(out, &requires_grad));
  assert_ok(htone_tensor_release(out));
  return requires_grad;
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

/* A custom module whose forward opens scopes. */
typedef struct Forward {
  htone_scope* around; /* the caller's scope, which the callback must not end */
  htone_status ended;  /* what trying it returned */
  int leaves_scopes_open;
  htone_tensor* temporary;
} Forward;

/* x * x + x in FP32, whatever the caller's autocast is. */
static htone_status forward_in_scopes(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module;
  Forward* forward = user;
  htone_scope *handles = NULL, *mode = NULL;
  htone_autocast_policy* policy = NULL;
  htone_tensor* sum = NULL;
  htone_status status = htone_handles_begin(&handles);
  if (status == HTONE_OK) status = htone_autocast_policy_create(HTONE_F32, &policy);
  if (status == HTONE_OK) status = htone_autocast_begin(policy, &mode);
  if (status == HTONE_OK) status = htone_matmul(input, input, &forward->temporary);
  if (status == HTONE_OK) status = htone_add(forward->temporary, input, &sum);
  if (status == HTONE_OK) status = htone_keep(sum);
  if (forward->around != NULL) forward->ended = htone_scope_end(forward->around);
  if (status == HTONE_OK && !forward->leaves_scopes_open) status = htone_scope_end(mode);
  if (status == HTONE_OK && !forward->leaves_scopes_open) status = htone_scope_end(handles);
  if (status == HTONE_OK) *out = sum;
  return status;
}

static htone_module* module_in_scopes(Forward* forward) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(forward_in_scopes, forward, NULL, NULL, &module));
  return keep_module(module);
}

static void check_forward(Forward* forward, int has_scope_around) {
  htone_module* module = module_in_scopes(forward);
  htone_tensor* x = keep_tensor(new_tensor());
  htone_autocast_policy* policy = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  htone_scope* handles = has_scope_around ? begin_handles() : NULL;
  htone_scope* autocast = NULL;
  assert_ok(htone_autocast_begin(policy, &autocast));
  forward->around = autocast;
  const int64_t before = live_handles();
  htone_tensor *out = NULL, *product = NULL;
  assert_ok(htone_module_forward(module, x, NULL, &out));
  assert_int_equal(forward->ended, HTONE_ERROR_STATE);
  assert_int_equal(live_handles(), before + 1);
  assert_false(is_alive(forward->temporary));
  htone_dtype dtype = HTONE_F64;
  assert_ok(htone_tensor_dtype(out, &dtype));
  assert_int_equal(dtype, HTONE_F32);
  assert_ok(htone_matmul(x, x, &product)); /* the caller's autocast is back */
  assert_ok(htone_tensor_dtype(product, &dtype));
  assert_int_equal(dtype, HTONE_BF16);
  assert_ok(htone_scope_end(autocast));
  if (handles == NULL) {
    keep_tensor(out);
    keep_tensor(product);
  } else {
    assert_ok(htone_scope_end(handles));
    assert_false(is_alive(out));
  }
}

static void scopes_work_inside_callbacks(void** state) {
  (void)state;
  Forward forward = {NULL, HTONE_OK, 0, NULL};
  check_forward(&forward, 0);
  check_forward(&forward, 1);
}

static void scopes_that_a_callback_leaves_open_end_with_it(void** state) {
  (void)state;
  Forward forward = {NULL, HTONE_OK, 1, NULL};
  check_forward(&forward, 0);
  check_forward(&forward, 1);
}

static htone_status fail_with_reason(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module;
  (void)call;
  ;
  return htone_error_set(HTONE_ERROR_UNSUPPORTED, user);
}

static void a_callback_says_why_it_fails(void** state) {
  (void)state;
  htone_module *inner = NULL, *named = NULL;
  assert_ok(htone_module_create_custom(fail_with_reason, "the mask\nis missing", NULL, NULL, &inner));
  const char* names[] = {"attention"};
  assert_ok(htone_module_create_named_sequential(1, names, &inner, &named));
  keep_module(named);
  htone_tensor* out = NULL;
  assert_fails(
      htone_module_forward(named, keep_tensor(new_tensor()), NULL, &out), HTONE_ERROR_CALLBACK,
      "htone_module_forward: layer attention (custom): forward of a custom module returned 4 (UNSUPPORTED): the "
      "mask?is missing");
  assert_int_equal(last_native_code(), HTONE_ERROR_UNSUPPORTED);
  assert_ok(htone_module_release(inner));
}

static void setting_an_error_needs_an_error_and_a_text(void** state) {
  (void)state;
  assert_fails(htone_error_set(HTONE_OK, "fine"), HTONE_ERROR_INVALID_ARGUMENT, "status is HTONE_OK");
  assert_fails(htone_error_set(HTONE_ERROR_STATE, NULL), HTONE_ERROR_INVALID_ARGUMENT, "message is NULL");
  assert_int_equal(htone_error_set((htone_status)77, "a code of its own"), 77);
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  assert_ok(htone_error_last(&info));
  assert_int_equal(info.status, 77);
  assert_string_equal(info.message, "a code of its own");
}

static const char* described_handles(void) {
  static char text[4096];
  size_t length = 0;
  assert_ok(htone_debug_describe_handles(text, sizeof text, &length));
  assert_int_equal(length, strlen(text));
  return text;
}

static void live_handles_are_listed_by_type(void** state) {
  (void)state;
  keep_tensor(new_tensor());
  keep_tensor(new_tensor());
  assert_non_null(strstr(described_handles(), "tensor: 2\n"));
  assert_non_null(strstr(described_handles(), "device: 1\n"));
}

static void tracked_handles_tell_where_they_were_made(void** state) {
  (void)state;
  htone_tensor* before = keep_tensor(new_tensor());
  assert_ok(htone_debug_track_handles(1));
  htone_tensor* sum = NULL;
  for (int i = 0; i < 3; ++i) {
    assert_ok(htone_add(before, before, &sum));
    keep_tensor(sum);
  }
  const char* text = described_handles();
  assert_non_null(strstr(text, "tensor: 1\n"));
  assert_non_null(strstr(text, "tensor: 3 from htone_add, called at "));
  assert_ok(htone_debug_track_handles(0));
  assert_non_null(strstr(described_handles(), "tensor: 4\n"));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_scope_releases_every_handle_that_calls_gave_in_it),
      cmocka_unit_test(a_handle_from_before_stays),
      cmocka_unit_test(a_kept_handle_moves_to_the_scope_around),
      cmocka_unit_test(many_handles_are_kept_in_any_order),
      cmocka_unit_test(keeping_needs_a_live_handle),
      cmocka_unit_test(a_handle_may_be_released_or_retained_in_its_scope),
      cmocka_unit_test(a_long_loop_in_one_scope_ends_with_no_handle),
      cmocka_unit_test(modes_and_handles_nest_in_any_order),
      cmocka_unit_test(a_scope_of_an_ended_thread_is_ended_by_another),
      cmocka_unit_test(a34_scopes_that_another_thread_leaves_to_theirs_end_at_its_next_call),
      cmocka_unit_test(a_scope_that_is_left_ends_after_the_inner_ones),
      cmocka_unit_test(a_scope_that_a_callback_leaves_ends_after_the_call_that_ran_it),
      cmocka_unit_test(a34_scopes_that_were_left_end_with_their_thread),
      cmocka_unit_test(a_scope_of_an_ended_thread_ends_at_once),
      cmocka_unit_test(scopes_work_inside_callbacks),
      cmocka_unit_test(scopes_that_a_callback_leaves_open_end_with_it),
      cmocka_unit_test(a_callback_says_why_it_fails),
      cmocka_unit_test(setting_an_error_needs_an_error_and_a_text),
      cmocka_unit_test(live_handles_are_listed_by_type),
      cmocka_unit_test(tracked_handles_tell_where_they_were_made),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
