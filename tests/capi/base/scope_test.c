/* Scopes of handles: which handles one releases, how one is kept, and scopes inside callbacks. */
#include "test_scopes.h"

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
  assert_ok(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &optimizer));
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
      cmocka_unit_test(scopes_work_inside_callbacks),
      cmocka_unit_test(scopes_that_a_callback_leaves_open_end_with_it),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
