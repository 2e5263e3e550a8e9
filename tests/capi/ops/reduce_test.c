/* Minimum and maximum with their indices, any and all, running sums, log-sum-exp: one value each, autocast, refusals.
 */
#include "halftone/reduce.h"

#include <math.h>

#include "test_tensors.h"

typedef htone_status (*ReduceFn)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);
typedef htone_status (*AlongFn)(htone_tensor*, int64_t, int32_t, htone_tensor**);
typedef htone_status (*PairFn)(htone_tensor*, int64_t, int32_t, htone_tensor**, htone_tensor**);

static htone_tensor* reduce(ReduceFn function, htone_tensor* input, int32_t count, const int64_t* dims, int keepdim) {
  htone_tensor* out = NULL;
  assert_ok(function(input, count, dims, keepdim, &out));
  return keep_tensor(out);
}

static htone_tensor* all_of(ReduceFn function, htone_tensor* input) { return reduce(function, input, 0, NULL, 0); }

static htone_tensor* over(ReduceFn function, htone_tensor* input, int64_t dim) {
  return reduce(function, input, 1, &dim, 0);
}

static htone_tensor* along(AlongFn function, htone_tensor* input, int64_t dim, int keepdim) {
  htone_tensor* out = NULL;
  assert_ok(function(input, dim, keepdim, &out));
  return keep_tensor(out);
}

typedef struct Pair {
  htone_tensor *values, *indices;
} Pair;

static Pair pair(PairFn function, htone_tensor* input, int64_t dim, int keepdim) {
  Pair result = {NULL, NULL};
  assert_ok(function(input, dim, keepdim, &result.values, &result.indices));
  return (Pair){keep_tensor(result.values), keep_tensor(result.indices)};
}

static htone_tensor* cumsum(htone_tensor* input, int64_t dim) {
  htone_tensor* out = NULL;
  assert_ok(htone_cumsum(input, dim, &out));
  return keep_tensor(out);
}

static htone_tensor* mixed(htone_dtype dtype) {
  return make_tensor(dtype, (const double[]){3, 1, 7, 7, 2, 5, 0, 9, 4, 6, 8, 8}, 3, 2, 3, 2);
}

static void extremes_of_a_dimension_come_with_their_first_index(void** state) {
  (void)state;
  htone_tensor* input = leaf(mixed(HTONE_F32));
  const Pair largest = pair(htone_max_dim, input, 1, 0), smallest = pair(htone_min_dim, input, -1, 1);
  assert_values(largest.values, 0, 7, 7, 8, 9);
  assert_values(largest.indices, 0, 1, 1, 2, 0);
  assert_int_equal(dtype_of(largest.indices), HTONE_I64);
  assert_int_equal(requires_grad(largest.indices), 0);
  assert_shape(smallest.values, 2, 3, 1);
  assert_shape(smallest.indices, 2, 3, 1);
  assert_values(smallest.values, 0, 1, 7, 2, 0, 4, 8);
  assert_values(along(htone_argmax, input, 0, 0), 0, 0, 1, 0, 0, 1, 1);
  assert_values(along(htone_argmin, input, 0, 0), 0, 1, 0, 1, 1, 0, 0);
  assert_shape(along(htone_argmin, input, 1, 1), 2, 1, 2);
  assert_int_equal(requires_grad(along(htone_argmax, input, 0, 0)), 0);
  assert_values(over(htone_amin, input, 0), 0, 0, 1, 4, 6, 2, 5);
  backward(all_of(htone_amax, input));
  assert_values(grad_of(input), 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0);
}

/* A9 */
static void nothing_has_no_extreme(void** state) {
  (void)state;
  static const ReduceFn reductions[] = {htone_amax, htone_amin};
  static const AlongFn places[] = {htone_argmax, htone_argmin};
  static const PairFn pairs[] = {htone_max_dim, htone_min_dim};
  htone_tensor *empty = make_ramp(HTONE_F32, 2, 0, 3), *out = NULL, *other = NULL;
  const int64_t first = 0;
  for (int i = 0; i < 2; ++i) {
    assert_fails(reductions[i](empty, 0, NULL, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
    assert_fails(reductions[i](empty, 1, &first, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
    assert_fails(places[i](empty, 0, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim");
    assert_fails(pairs[i](empty, 0, 0, &out, &other), HTONE_ERROR_INVALID_ARGUMENT, "dim");
    assert_null(out);
    assert_null(other);
    assert_shape(over(reductions[i], empty, 1), 0);
    assert_shape(along(places[i], empty, 1, 1), 0, 1);
    assert_shape(pair(pairs[i], empty, -1, 0).indices, 0);
  }
}

static void any_and_all_ask_what_is_not_zero(void** state) {
  (void)state;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){0, 0.25, 0, 0, NAN, 1}, 2, 3, 2);
  assert_int_equal(dtype_of(all_of(htone_any, input)), HTONE_BOOL);
  assert_values(over(htone_any, input, 1), 0, 1, 0, 1);
  assert_values(over(htone_all, input, 1), 0, 0, 0, 1);
}

static void running_sums_go_along_a_dimension(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F32, 2, 2, 3));
  htone_tensor* result = cumsum(input, -2);
  assert_values(result, 0, 0, 1, 2, 3, 5, 7);
  backward(sum_of(result));
  assert_values(grad_of(input), 0, 2, 2, 2, 1, 1, 1);
}

static void log_sum_exp_survives_large_entries(void** state) {
  (void)state;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){1000, 1000, 0, log(3)}, 2, 2, 2);
  assert_values(over(htone_log_sum_exp, input, 1), 1e-4, 1000 + log(2), log(4));
  assert_shape(reduce(htone_log_sum_exp, input, 0, NULL, 1), 1, 1);
}

/* Computed from a result that was rounded at 1e6, the probabilities would be wrong by 3 %. */
static void the_gradient_of_log_sum_exp_keeps_its_digits_for_large_entries(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){1e6, 1e6 - 1, 1e6 - 3}, 1, 3));
  backward(all_of(htone_log_sum_exp, input));
  const double sum = 1 + exp(-1) + exp(-3);
  assert_values(grad_of(input), 1e-6, 1 / sum, exp(-1) / sum, exp(-3) / sum);
}

static void sums_of_exponentials_and_running_sums_are_f32_under_autocast(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor* input = make_ramp(HTONE_BF16, 2, 2, 3);
  assert_int_equal(dtype_of(all_of(htone_log_sum_exp, input)), HTONE_BF16);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  assert_int_equal(dtype_of(all_of(htone_log_sum_exp, input)), HTONE_F32);
  assert_int_equal(dtype_of(cumsum(input, 0)), HTONE_F32);
  assert_int_equal(dtype_of(all_of(htone_amax, input)), HTONE_BF16);
  assert_ok(htone_scope_end(scope));
}

static void what_cannot_be_reduced_is_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *other = NULL, *input = make_ramp(HTONE_F32, 2, 2, 2);
  htone_tensor* stored = cast_of(input, HTONE_F8E4M3);
  assert_fails(htone_amax(stored, 0, NULL, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input");
  assert_fails(htone_max_dim(stored, 0, 0, &out, &other), HTONE_ERROR_DTYPE_MISMATCH, "input");
  assert_fails(htone_argmin(stored, 0, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input");
  assert_fails(htone_cumsum(stored, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input");
  assert_fails(htone_log_sum_exp(make_ramp(HTONE_I64, 1, 2), 0, NULL, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "input");
  assert_fails(htone_amin(input, 2, (const int64_t[]){1, -1}, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_argmax(input, 2, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim");
  assert_fails(htone_cumsum(input, -3, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim");
  assert_fails(htone_min_dim(input, 0, 0, &out, NULL), HTONE_ERROR_INVALID_ARGUMENT, "out_indices");
  assert_fails(htone_min_dim(input, 0, 0, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "out_values");
  assert_null(out);
  assert_null(other);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(extremes_of_a_dimension_come_with_their_first_index),
      cmocka_unit_test(nothing_has_no_extreme),
      cmocka_unit_test(any_and_all_ask_what_is_not_zero),
      cmocka_unit_test(running_sums_go_along_a_dimension),
      cmocka_unit_test(log_sum_exp_survives_large_entries),
      cmocka_unit_test(the_gradient_of_log_sum_exp_keeps_its_digits_for_large_entries),
      cmocka_unit_test(sums_of_exponentials_and_running_sums_are_f32_under_autocast),
      cmocka_unit_test(what_cannot_be_reduced_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
