/* Comparisons, logic and selection: values with NaN, promotion, broadcasting, gradients of where, refusals. */
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

static void nan_is_unequal_and_in_no_order(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  for (size_t d = 0; d < COUNT_OF(dtypes); ++d) {
    htone_tensor* a = make_tensor(dtypes[d], (const double[]){1, 2, 3, NAN, 2, NAN}, 1, 6);
    htone_tensor* b = make_tensor(dtypes[d], (const double[]){2, 2, 2, 2, NAN, NAN}, 1, 6);
    for (size_t i = 0; i < COUNT_OF(kComparisons); ++i) {
      const Comparison* c = &kComparisons[i];
      htone_tensor* out = apply2(c->apply, a, b);
      assert_int_equal(dtype_of(out), HTONE_BOOL);
      assert_values(out, 0, c->less, c->equal, c->greater, c->unordered, c->unordered, c->unordered);
    }
  }
}

static void zeros_are_equal_and_infinities_ordered(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F32, (const double[]){0, -INFINITY, INFINITY}, 1, 3);
  htone_tensor* b = make_tensor(HTONE_F32, (const double[]){-0.0, INFINITY, INFINITY}, 1, 3);
  assert_values(apply2(htone_eq, a, b), 0, 1, 0, 1);
  assert_values(apply2(htone_lt, a, b), 0, 0, 1, 0);
}

static void operands_promote_before_they_are_compared(void** state) {
  (void)state;
  htone_tensor* signed_bytes = make_tensor(HTONE_I8, (const double[]){-1}, 1, 1);
  assert_values(apply2(htone_lt, signed_bytes, make_tensor(HTONE_U8, (const double[]){200}, 1, 1)), 0, 1);
  assert_values(apply2(htone_eq, make_tensor(HTONE_F16, (const double[]){2}, 1, 1), make_scalar(HTONE_I64, 2)), 0, 1);
  assert_values(apply2(htone_ge, make_scalar(HTONE_BOOL, 1), make_scalar(HTONE_F32, 0.5)), 0, 1);
  /* A scalar takes the tensor's dtype, so a tensor that stores 0.1 equals the scalar 0.1. */
  assert_values(apply2(htone_eq, make_tensor(HTONE_F32, (const double[]){0.1}, 1, 1), make_scalar(HTONE_F64, 0.1)), 0,
                1);
  assert_values(apply2(htone_eq, make_tensor(HTONE_BF16, (const double[]){0.1}, 1, 1), make_scalar(HTONE_F32, 0.1)), 0,
                1);
  assert_values(apply2(htone_eq, make_tensor(HTONE_BF16, (const double[]){256}, 1, 1),
                       make_tensor(HTONE_I32, (const double[]){257}, 1, 1)),
                0, 1);
}

static void comparisons_broadcast_and_read_strides(void** state) {
  (void)state;
  htone_tensor* column = make_ramp(HTONE_I32, 2, 3, 1);
  htone_tensor* row = make_ramp(HTONE_I32, 1, 3);
  htone_tensor* lower = apply2(htone_ge, column, row);
  assert_shape(lower, 3, 3);
  assert_values(lower, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1);
  htone_tensor* square = make_ramp(HTONE_F32, 2, 2, 2);
  assert_values(apply2(htone_lt, square, transpose_of(square, 0, 1)), 0, 0, 1, 0, 0);
  assert_shape(apply2(htone_eq, make_ramp(HTONE_F32, 2, 0, 3), row), 0, 3);
}

static void logic_takes_whatever_is_not_zero_as_true(void** state) {
  (void)state;
  htone_tensor* a = make_tensor(HTONE_F32, (const double[]){0, 0.5, NAN, -0.0}, 1, 4);
  htone_tensor* b = make_tensor(HTONE_U8, (const double[]){0, 0, 7, 7}, 1, 4);
  assert_values(apply2(htone_logical_and, a, b), 0, 0, 0, 1, 0);
  assert_values(apply2(htone_logical_or, a, b), 0, 0, 1, 1, 1);
  assert_values(apply1(htone_logical_not, a), 0, 1, 0, 0, 1);
  assert_values(apply1(htone_logical_not, make_tensor(HTONE_BOOL, (const double[]){0, 1}, 1, 2)), 0, 1, 0);
}

static void nan_and_infinities_are_found(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F16, (const double[]){1, NAN, INFINITY, -INFINITY, 65504}, 1, 5);
  assert_values(apply1(htone_is_nan, x), 0, 0, 1, 0, 0, 0);
  assert_values(apply1(htone_is_finite, x), 0, 1, 0, 0, 0, 1);
  assert_values(apply1(htone_is_nan, make_ramp(HTONE_I64, 1, 2)), 0, 0, 0);
  assert_values(apply1(htone_is_finite, make_ramp(HTONE_I64, 1, 2)), 0, 1, 1);
  assert_int_equal(dtype_of(apply1(htone_is_finite, x)), HTONE_BOOL);
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

static void where_chooses_broadcasts_and_promotes(void** state) {
  (void)state;
  htone_tensor* condition = make_tensor(HTONE_BOOL, (const double[]){1, 0}, 2, 2, 1);
  htone_tensor* row = make_tensor(HTONE_F32, (const double[]){1, 2, 3}, 1, 3);
  htone_tensor* out = chosen(condition, row, make_scalar(HTONE_F32, NAN));
  assert_shape(out, 2, 3);
  assert_values(out, 0, 1, 2, 3, NAN, NAN, NAN);
  htone_tensor* wide = chosen(condition, make_scalar(HTONE_I64, 5), make_scalar(HTONE_I8, -1));
  assert_int_equal(dtype_of(wide), HTONE_I64);
  assert_values(wide, 0, 5, -1);
  assert_int_equal(dtype_of(chosen(condition, row, make_ramp(HTONE_I64, 1, 3))), HTONE_F32);
  assert_int_equal(dtype_of(chosen(condition, make_ramp(HTONE_F16, 1, 3), make_scalar(HTONE_F32, 0))), HTONE_F16);
  assert_shape(chosen(make_ramp(HTONE_BOOL, 1, 0), make_scalar(HTONE_F32, 1), make_scalar(HTONE_F32, 2)), 0);
}

static void what_where_did_not_choose_gets_zero(void** state) {
  (void)state;
  htone_tensor* condition = make_tensor(HTONE_BOOL, (const double[]){1, 0, 1}, 1, 3);
  htone_tensor* a = leaf(make_ramp(HTONE_BF16, 1, 3));
  htone_tensor* b = leaf(make_scalar(HTONE_F32, 4));
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
      cmocka_unit_test(nan_is_unequal_and_in_no_order),
      cmocka_unit_test(zeros_are_equal_and_infinities_ordered),
      cmocka_unit_test(operands_promote_before_they_are_compared),
      cmocka_unit_test(comparisons_broadcast_and_read_strides),
      cmocka_unit_test(logic_takes_whatever_is_not_zero_as_true),
      cmocka_unit_test(nan_and_infinities_are_found),
      cmocka_unit_test(comparisons_lead_no_gradient),
      cmocka_unit_test(where_chooses_broadcasts_and_promotes),
      cmocka_unit_test(what_where_did_not_choose_gets_zero),
      cmocka_unit_test(where_refuses_what_does_not_fit),
      cmocka_unit_test(comparisons_and_where_follow_autocast),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
