/* Autocast: the policy table, how scopes affect operations and gradients, and explicit policies of module forwards. */
#include <pthread.h>

#include "autocast_rows.h"
#include "test_modules.h"

static htone_autocast_policy* make_policy(htone_dtype dtype) {
  htone_autocast_policy* policy = NULL;
  assert_ok(htone_autocast_policy_create(dtype, &policy));
  return keep_policy(policy);
}

static htone_scope* begin_autocast(htone_dtype dtype) {
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_begin(make_policy(dtype), &scope));
  return scope;
}

static htone_tensor* square_matrix(htone_dtype dtype) { return make_ramp(dtype, 2, 2, 2); }

static htone_dtype product_dtype(htone_dtype a, htone_dtype b) {
  return dtype_of(apply2(htone_matmul, square_matrix(a), square_matrix(b)));
}

static void the_default_table_is_what_the_operations_document(void** state) {
  (void)state;
  htone_autocast_policy* policy = make_policy(HTONE_BF16);
  for (size_t i = 0; i < COUNT_OF(kAutocastRows); ++i) {
    htone_autocast_class actual = 0;
    assert_ok(htone_autocast_policy_class(policy, kAutocastRows[i].op, &actual));
    if (actual != kAutocastRows[i].autocast_class) print_error("%s\n", kAutocastRows[i].op);
    assert_int_equal(actual, kAutocastRows[i].autocast_class);
  }
}

static void a_row_of_the_table_can_be_overridden(void** state) {
  (void)state;
  htone_autocast_policy* policy = make_policy(HTONE_BF16);
  htone_autocast_class actual = 0;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_set_class(policy, "matmul", HTONE_AUTOCAST_FP32));
  assert_ok(htone_autocast_policy_set_class(policy, "sum", HTONE_AUTOCAST_AS_IS));
  assert_ok(htone_autocast_policy_class(policy, "matmul", &actual));
  assert_int_equal(actual, HTONE_AUTOCAST_FP32);
  assert_ok(htone_autocast_begin(policy, &scope));
  assert_int_equal(product_dtype(HTONE_BF16, HTONE_BF16), HTONE_F32);
  assert_int_equal(dtype_of(sum_of(square_matrix(HTONE_BF16))), HTONE_BF16);
  assert_ok(htone_scope_end(scope));
  assert_ok(htone_autocast_policy_class(make_policy(HTONE_BF16), "matmul", &actual));
  assert_int_equal(actual, HTONE_AUTOCAST_LOW);
}

static void every_row_but_the_fixed_ones_can_be_overridden(void** state) {
  (void)state;
  static const htone_autocast_class others[] = {HTONE_AUTOCAST_LOW, HTONE_AUTOCAST_FP32, HTONE_AUTOCAST_WIDEST};
  htone_autocast_policy* policy = make_policy(HTONE_BF16);
  for (size_t i = 0; i < COUNT_OF(kAutocastRows); ++i) {
    const char* op = kAutocastRows[i].op;
    for (size_t k = 0; k < COUNT_OF(others); ++k) {
      htone_autocast_class actual = 0;
      if (kAutocastRows[i].is_fixed) {
        assert_fails(htone_autocast_policy_set_class(policy, op, others[k]), HTONE_ERROR_INVALID_ARGUMENT,
                     "autocast_class");
      } else {
        assert_ok(htone_autocast_policy_set_class(policy, op, others[k]));
      }
      assert_ok(htone_autocast_policy_class(policy, op, &actual));
      assert_int_equal(actual, kAutocastRows[i].is_fixed ? HTONE_AUTOCAST_AS_IS : others[k]);
    }
    assert_ok(htone_autocast_policy_set_class(policy, op, HTONE_AUTOCAST_AS_IS));
  }
}

static void only_names_of_operations_have_a_row(void** state) {
  (void)state;
  static const char* const wrong[] = {"", "htone_matmul", "MATMUL", "matmul ", "matmu", "no such\noperation"};
  htone_autocast_policy* policy = make_policy(HTONE_BF16);
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_autocast_class actual = 77;
    assert_fails(htone_autocast_policy_class(policy, wrong[i], &actual), HTONE_ERROR_INVALID_ARGUMENT, "op");
    assert_fails(htone_autocast_policy_set_class(policy, wrong[i], HTONE_AUTOCAST_LOW), HTONE_ERROR_INVALID_ARGUMENT,
                 "op");
    assert_int_equal(actual, 77);
  }
}

static void scopes_nest_and_bring_back_what_was(void** state) {
  (void)state;
  htone_scope* outer = begin_autocast(HTONE_BF16);
  htone_scope* inner = begin_autocast(HTONE_F16);
  assert_int_equal(product_dtype(HTONE_F32, HTONE_F32), HTONE_F16);
  htone_scope* innermost = begin_autocast(HTONE_F32);
  assert_int_equal(product_dtype(HTONE_F32, HTONE_F32), HTONE_F32);
  assert_fails(htone_scope_end(inner), HTONE_ERROR_STATE, "scope");
  assert_ok(htone_scope_end(innermost));
  assert_int_equal(product_dtype(HTONE_F32, HTONE_F32), HTONE_F16);
  assert_ok(htone_scope_end(inner));
  assert_int_equal(product_dtype(HTONE_F32, HTONE_F32), HTONE_BF16);
  assert_ok(htone_scope_end(outer));
}

static void a_policy_of_fp32_changes_nothing(void** state) {
  (void)state;
  htone_scope* scope = begin_autocast(HTONE_F32);
  assert_int_equal(product_dtype(HTONE_BF16, HTONE_BF16), HTONE_BF16);
  assert_int_equal(dtype_of(sum_of(square_matrix(HTONE_BF16))), HTONE_BF16);
  assert_refuses(htone_matmul(square_matrix(HTONE_BF16), square_matrix(HTONE_F32), &out), DTYPE_MISMATCH, "");
  assert_ok(htone_scope_end(scope));
}

static void a_scope_keeps_its_policy(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(policy, &scope));
  assert_ok(htone_autocast_policy_release(policy));
  assert_int_equal(product_dtype(HTONE_F32, HTONE_F32), HTONE_BF16);
  assert_ok(htone_scope_end(scope));
}

typedef struct Forward {
  htone_module* module;
  htone_tensor* input;
  htone_autocast_policy* policy;
  htone_status status;
  htone_dtype dtype;
} Forward;

static void* run_forward(void* argument) {
  Forward* forward = argument;
  htone_tensor* out = NULL;
  forward->status = htone_module_forward(forward->module, forward->input, forward->policy, &out);
  if (forward->status == HTONE_OK) forward->status = htone_tensor_dtype(out, &forward->dtype);
  htone_tensor_release(out);
  return NULL;
}

static htone_dtype dtype_on_another_thread(Forward forward) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_forward, &forward), 0);
  pthread_join(thread, NULL);
  assert_int_equal(forward.status, HTONE_OK);
  return forward.dtype;
}

static void an_explicit_policy_rules_a_forward_on_any_thread(void** state) {
  (void)state;
  htone_module* module = NULL;
  assert_ok(htone_module_create_linear(test_device(), 2, 3, NULL, &module));
  keep_module(module);
  Forward forward = {.module = module, .input = square_matrix(HTONE_F32)};
  htone_scope* scope = begin_autocast(HTONE_F16); /* in this thread only */
  assert_int_equal(dtype_on_another_thread(forward), HTONE_F32);
  run_forward(&forward);
  assert_int_equal(forward.dtype, HTONE_F16);
  forward.policy = make_policy(HTONE_BF16);
  assert_int_equal(dtype_on_another_thread(forward), HTONE_BF16);
  run_forward(&forward);
  assert_int_equal(forward.dtype, HTONE_BF16);
  assert_int_equal(product_dtype(HTONE_F32, HTONE_F32), HTONE_F16);
  forward.policy = make_policy(HTONE_F32);
  run_forward(&forward);
  assert_int_equal(forward.dtype, HTONE_F32);
  assert_ok(htone_scope_end(scope));
}

static void assert_cast_bytes(htone_autocast_policy* policy, int64_t parameters, int64_t tensors) {
  int64_t of_parameters = -1, of_tensors = -1;
  assert_ok(htone_autocast_policy_cast_bytes(policy, &of_parameters, &of_tensors));
  assert_int_equal(of_parameters, parameters);
  assert_int_equal(of_tensors, tensors);
}

/* Runs forward, backward and a step. The layer has 6 weights and 2 biases; the input has 12 elements. */
static void train_under(htone_autocast_policy* policy, htone_module* module, htone_optimizer* optimizer) {
  htone_tensor* out = NULL;
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_ok(htone_module_forward(module, make_ramp(HTONE_F32, 2, 4, 3), policy, &out));
  backward(sum_of(keep_tensor(out)));
  assert_ok(htone_optimizer_step(optimizer));
}

static void a_step_casts_weights_only_where_no_copy_is_kept(void** state) {
  (void)state;
  for (int kept = 0; kept < 2; ++kept) {
    htone_module* module = make_linear(test_device(), 3, 2, 1);
    htone_autocast_policy* policy = NULL;
    htone_optimizer* optimizer = NULL;
    htone_optimizer_options options;
    assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
    options.compute_dtype = kept ? HTONE_BF16 : HTONE_F32;
    assert_ok(htone_optimizer_create(module, &options, &optimizer));
    keep_optimizer(optimizer);
    assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
    keep_policy(policy);
    assert_cast_bytes(policy, 0, 0);
    for (int step = 1; step <= 3; ++step) {
      train_under(policy, module, optimizer);
      assert_cast_bytes(policy, kept ? 0 : step * (6 + 2) * 2, step * 12 * 2);
    }
    assert_ok(htone_tensor_fill(weights_of(module, 0), 1)); /* makes the low-precision copy stale until the next step */
    assert_ok(htone_autocast_policy_reset_cast_bytes(policy));
    assert_cast_bytes(policy, 0, 0);
    train_under(policy, module, optimizer);
    assert_cast_bytes(policy, kept ? 6 * 2 : (6 + 2) * 2, 12 * 2);
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_default_table_is_what_the_operations_document),
      cmocka_unit_test(a_row_of_the_table_can_be_overridden),
      cmocka_unit_test(every_row_but_the_fixed_ones_can_be_overridden),
      cmocka_unit_test(only_names_of_operations_have_a_row),
      cmocka_unit_test(scopes_nest_and_bring_back_what_was),
      cmocka_unit_test(a_policy_of_fp32_changes_nothing),
      cmocka_unit_test(a_scope_keeps_its_policy),
      cmocka_unit_test(an_explicit_policy_rules_a_forward_on_any_thread),
      cmocka_unit_test(a_step_casts_weights_only_where_no_copy_is_kept),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
