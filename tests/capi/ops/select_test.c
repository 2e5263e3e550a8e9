/* Operations that choose, search, count or repeat elements: draws, refusals. */

#include "test_tensors.h"

#define vector_of(dtype, ...) \
  make_tensor((dtype), (const double[]){__VA_ARGS__}, 1, (int)COUNT_OF(((const double[]){__VA_ARGS__})))

static htone_tensor* draws_of(htone_tensor* probabilities, int64_t num_samples, int32_t replacement) {
  htone_tensor* out = NULL;
  assert_ok(htone_multinomial(probabilities, num_samples, replacement, &out));
  return keep_tensor(out);
}

static void refuses_what_has_no_order(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 2, 3);
  htone_tensor *values = NULL, *indices = NULL;
  assert_fails(htone_topk(input, 4, 1, 1, 1, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT,
               "k=4 is outside [0, 3], the elements along dim 1 of input [2, 3]");
  assert_fails(htone_topk(input, -1, 1, 1, 1, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT,
               "k=-1 is outside [0, 3]");
  assert_fails(htone_sort(input, 2, 0, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT, "dim=2");
  assert_fails(htone_argsort(cast_of(input, HTONE_F8E4M3), 0, 0, &values), HTONE_ERROR_DTYPE_MISMATCH, "f8e4m3");
  assert_null(values);
  assert_null(indices);
}

static void draws_follow_the_seed_alone(void** state) {
  (void)state;
  const int64_t shape[] = {50, 2000};
  htone_tensor* draws[2] = {NULL, NULL};
  for (int32_t i = 0; i < 2; ++i) {
    htone_tensor* weights = NULL;
    htone_device* device = make_device(make_context(1 + 2 * i, 11));
    assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &weights));
    draws[i] = draws_of(keep_tensor(weights), 4, 0);
  }
  assert_tensors_near(draws[1], draws[0], 0);
}

static void draws_need_no_sum_of_one_and_avoid_zeros(void** state) {
  (void)state;
  htone_tensor* draws = draws_of(make_tensor(HTONE_F16, (const double[]){0, 7, 0, 3, 0, 0}, 2, 2, 3), 4, 1);
  assert_values(draws, 0, 1, 1, 1, 1, 0, 0, 0, 0);
  assert_int_equal(dtype_of(draws), HTONE_I64);
  assert_int_equal(requires_grad(draws_of(leaf(vector_of(HTONE_F32, 1, 1)), 1, 1)), 0);
}

static void refuses_probabilities_that_allow_no_draw(void** state) {
  (void)state;
  assert_refuses(htone_multinomial(vector_of(HTONE_F32, 1, -1), 1, 1, &out), INVALID_ARGUMENT,
                 "probabilities has -1 at 1 of row 0");
  assert_refuses(htone_multinomial(vector_of(HTONE_F32, 1, 0), 2, 0, &out), INVALID_ARGUMENT,
                 "probabilities has 1 above 0 in row 0, expected at least 2");
  assert_refuses(htone_multinomial(vector_of(HTONE_F32, 1, 1), 3, 0, &out), INVALID_ARGUMENT,
                 "num_samples=3, expected at most 2");
  assert_refuses(htone_multinomial(vector_of(HTONE_F32, 1, 1), 0, 1, &out), INVALID_ARGUMENT, "num_samples=0");
  assert_refuses(htone_multinomial(make_ramp(HTONE_F32, 3, 2, 2, 2), 1, 1, &out), SHAPE_MISMATCH, "expected 1 or 2");
  assert_refuses(htone_multinomial(make_ramp(HTONE_F32, 2, 2, 0), 1, 1, &out), SHAPE_MISMATCH, "has no categories");
  assert_refuses(htone_multinomial(vector_of(HTONE_I32, 1, 1), 1, 1, &out), DTYPE_MISMATCH, "i32");
}

static void refuses_ranks_that_are_not_there(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 2, 2, 3), *nothing = make_ramp(HTONE_I64, 2, 0, 2);
  htone_tensor *values = NULL, *indices = NULL;
  assert_fails(htone_kthvalue(input, 4, 1, 0, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT,
               "k=4 is outside [1, 3], the elements along dim 1 of input [2, 3]");
  assert_fails(htone_median_dim(nothing, 0, 0, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT,
               "dim of input [0, 2]: this dimension has no element to choose from");
  assert_refuses(htone_median(nothing, &out), INVALID_ARGUMENT, "input [0, 2] has no elements, and i64 has no NaN");
  assert_refuses(htone_quantile(input, 1.5, 0, 0, HTONE_INTERPOLATION_LINEAR, &out), INVALID_ARGUMENT, "q=1.5");
  assert_refuses(htone_quantile(nothing, 0.5, 1, 0, HTONE_INTERPOLATION_LINEAR, &out), DTYPE_MISMATCH, "input is i64");
  assert_null(values);
  assert_null(indices);
}

static void refuses_counts_without_a_size(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 2, 2, 3), *negative = vector_of(HTONE_I64, 1, -1);
  const double many = 4611686018427387904.0;
  assert_refuses(htone_bincount(negative, NULL, 0, &out), INVALID_ARGUMENT, "input[1]=-1");
  assert_refuses(htone_bincount(vector_of(HTONE_I32, 1, 2), vector_of(HTONE_F32, 1), 0, &out), SHAPE_MISMATCH,
                 "weights [1] differs from input [2]");
  assert_refuses(htone_repeat_interleave(input, -1, 0, &out), INVALID_ARGUMENT, "count=-1");
  assert_refuses(htone_repeat_interleave_counts(input, negative, 0, &out), INVALID_ARGUMENT, "counts[1]=-1");
  assert_refuses(htone_repeat_interleave_counts(input, vector_of(HTONE_I64, many, many), 0, &out), INVALID_ARGUMENT,
                 "counts");
  assert_refuses(htone_repeat_interleave_counts(input, negative, 1, &out), SHAPE_MISMATCH,
                 "counts [2] differs from input.shape[1]=3");
  assert_refuses(htone_searchsorted(input, negative, 0, &out), DTYPE_MISMATCH, "values is i64");
  assert_refuses(htone_diag(vector_of(HTONE_F32, 1), INT64_MIN, &out), INVALID_ARGUMENT, "diagonal=");
}

/* A repeated element makes a line longer than any memory: scratch for it is refused, not computed modulo 2^64. */
static void lines_beyond_memory_are_refused(void** state) {
  (void)state;
  const int64_t shape[] = {INT64_C(1) << 59};
  htone_tensor *line = NULL, *values = NULL, *indices = NULL;
  assert_ok(htone_broadcast_to(make_scalar(HTONE_F32, 1), 1, shape, &line));
  keep_tensor(line);
  assert_fails(htone_topk(line, 1, 0, 1, 1, &values, &indices), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_fails(htone_multinomial(line, 1, 1, &values), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_fails(htone_argsort(line, 0, 0, &values), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_null(values);
  assert_null(indices);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_what_has_no_order),
      cmocka_unit_test(draws_follow_the_seed_alone),
      cmocka_unit_test(draws_need_no_sum_of_one_and_avoid_zeros),
      cmocka_unit_test(refuses_probabilities_that_allow_no_draw),
      cmocka_unit_test(refuses_ranks_that_are_not_there),
      cmocka_unit_test(refuses_counts_without_a_size),
      cmocka_unit_test(lines_beyond_memory_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
