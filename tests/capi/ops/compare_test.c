/* Comparisons, logic and selection: results, gradients of where, autocast, refusals. */
#include <math.h>

#include "test_tensors.h"

typedef struct Comparison {
  BinaryFn apply;
  double less, equal, greater, unordered;
} Comparison;

static const Comparison kComparisons[] = {
    {htone_eq, 0, 1, 0, 0}, {htone_ne, 1, 0, 1, 1}, {htone_lt, 1, 0, 0, 0},
    {htone_le, 1, 1, 0, 0}, {htone_gt, 0, 0, 1, 0}, {htone_ge, 0, 1, 1, 0},
};

static void comparisons_return_bools(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F32, (const double[]){1, 2, 3, NAN}, 1, 4);
  htone_tensor* b = make_tensor(HTONE_F32, (const double[]){2, 2, 2, 2}, 1, 4);
  for (size_t i = 0; i < COUNT_OF(kComparisons); ++i) {
    const Comparison* c = &kComparisons[i];
    htone_tensor* out = apply2(c->apply, a, b);
    assert_int_equal(dtype_of(out), HTONE_BOOL);
    assert_values(out, 0, c->less, c->equal, c->greater, c->unordered);
  }
  assert_values(apply2(htone_logical_and, a, b), 0, 1, 1, 1, 1);
  assert_values(apply2(htone_logical_or, make_ramp(HTONE_F32, 1, 2), make_scalar(HTONE_F32, 0)), 0, 0, 1);
  assert_values(apply1(htone_logical_not, a), 0, 0, 0, 0, 0);
  assert_values(apply1(htone_is_finite, a), 0, 1, 1, 1, 0);
}

static void comparisons_lead_no_gradient(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  for (size_t i = 0; i < COUNT_OF(kComparisons); ++i) {
    assert_int_equal(requires_grad(apply2(kComparisons[i].apply, x, x)), 0);
  }
  assert_int_equal(requires_grad(apply1(htone_is_nan, x)), 0);
}

static htone_tensor* chosen(htone_tensor* condition, htone_tensor* a, htone_tensor* b) {
  htone_tensor* out = NULL;
  assert_ok(htone_where(condition, a, b, &out));
  return keep_tensor(out);
}

static void where_chooses_and_what_it_did_not_choose_gets_no_gradient(void** state) {
  (void)state;
  htone_tensor* condition = make_tensor(HTONE_BOOL, (const double[]){1, 0, 1}, 1, 3);
  htone_tensor* a = leaf(make_ramp(HTONE_BF16, 1, 3));
  htone_tensor* b = leaf(make_scalar(HTONE_F32, 4));
  assert_values(chosen(condition, a, b), 0, 0, 4, 2);
  backward(sum_of(chosen(condition, a, b)));
  assert_values(grad_of(a), 0, 1, 0, 1);
  assert_int_equal(dtype_of(grad_of(a)), HTONE_BF16);
  assert_values(grad_of(b), 0, 1);
}

static void where_refuses_what_does_not_fit(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  htone_tensor* condition = make_ramp(HTONE_BOOL, 1, 2);
  htone_tensor* pair = make_ramp(HTONE_F32, 1, 2);
  htone_tensor* triple = make_ramp(HTONE_F32, 1, 3);
  assert_fails(htone_where(make_ramp(HTONE_U8, 1, 2), pair, pair, &out), HTONE_ERROR_DTYPE_MISMATCH, "expected bool");
  assert_fails(htone_where(condition, triple, triple, &out), HTONE_ERROR_SHAPE_MISMATCH, "condition [2]");
  assert_fails(htone_where(condition, pair, triple, &out), HTONE_ERROR_SHAPE_MISMATCH, "a [2] and b [3]");
  assert_fails(htone_where(condition, pair, make_ramp(HTONE_F8E4M3, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH,
               "b is f8e4m3");
  for (size_t i = 0; i < COUNT_OF(kComparisons); ++i) {
    assert_fails(kComparisons[i].apply(pair, triple, &out), HTONE_ERROR_SHAPE_MISMATCH, "[3]");
    assert_fails(kComparisons[i].apply(pair, make_ramp(HTONE_F8E5M2, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH, "b is");
  }
  assert_null(out);
}

static void comparisons_and_where_follow_autocast(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  htone_tensor* condition = make_ramp(HTONE_BOOL, 1, 2);
  htone_tensor* narrow = leaf(make_ramp(HTONE_BF16, 1, 2));
  htone_tensor* out = chosen(condition, narrow, make_scalar(HTONE_F32, 1));
  assert_int_equal(dtype_of(out), HTONE_F32);
  assert_int_equal(dtype_of(apply2(htone_eq, narrow, make_scalar(HTONE_F32, 1))), HTONE_BOOL);
  backward(sum_of(out));
  assert_values(grad_of(narrow), 0, 0, 1);
  assert_ok(htone_scope_end(scope));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comparisons_return_bools),
      cmocka_unit_test(comparisons_lead_no_gradient),
      cmocka_unit_test(where_chooses_and_what_it_did_not_choose_gets_no_gradient),
      cmocka_unit_test(where_refuses_what_does_not_fit),
      cmocka_unit_test(comparisons_and_where_follow_autocast),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
