/* Sums, means, softmax and log-softmax, accuracy, and what they and cross entropy refuse. */
#include <math.h>

#include "test_tensors.h"

typedef htone_status (*ReduceFn)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);

static htone_tensor* reduce(ReduceFn function, htone_tensor* input, int32_t count, const int64_t* dims, int keepdim) {
  htone_tensor* out = NULL;
  assert_ok(function(input, count, dims, keepdim, &out));
  return keep_tensor(out);
}

static htone_tensor* softmax_of(htone_tensor* input, int64_t dim) {
  htone_tensor* out = NULL;
  assert_ok(htone_softmax(input, dim, &out));
  return keep_tensor(out);
}

static htone_tensor* log_softmax_of(htone_tensor* input, int64_t dim) {
  htone_tensor* out = NULL;
  assert_ok(htone_log_softmax(input, dim, &out));
  return keep_tensor(out);
}

static void sums_and_means_run_over_the_named_dimensions(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F32, 3, 2, 3, 2));
  assert_scalar(reduce(htone_sum, input, 0, NULL, 0));
  assert_values(reduce(htone_sum, input, 0, NULL, 0), 0, 66);
  htone_tensor* sum = reduce(htone_sum, input, 2, (const int64_t[]){-1, 0}, 1);
  assert_shape(sum, 1, 3, 1);
  assert_values(sum, 0, 14, 22, 30);
  htone_tensor* mean = reduce(htone_mean, input, 1, (const int64_t[]){1}, 0);
  assert_shape(mean, 2, 2);
  assert_values(mean, 0, 2, 3, 8, 9);
  backward(sum_of(apply2(htone_mul, sum, sum)));
  assert_values(grad_of(input), 0, 28, 28, 44, 44, 60, 60, 28, 28, 44, 44, 60, 60);
}

/* A9 */
static void an_empty_sum_is_zero_and_an_empty_mean_is_nan(void** state) {
  (void)state;
  htone_tensor* empty = make_ramp(HTONE_F32, 2, 0, 2);
  assert_values(sum_of(empty), 0, 0);
  assert_values(reduce(htone_sum, empty, 1, (const int64_t[]){0}, 0), 0, 0, 0);
  assert_shape(reduce(htone_sum, empty, 1, (const int64_t[]){1}, 0), 0);
  assert_values(reduce(htone_mean, empty, 0, NULL, 0), 0, NAN);
  assert_values(reduce(htone_mean, empty, 1, (const int64_t[]){0}, 0), 0, NAN, NAN);
}

static void bad_dimensions_of_a_sum_are_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *input = make_ramp(HTONE_F32, 2, 2, 2);
  assert_fails(htone_sum(input, 1, (const int64_t[]){2}, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_sum(input, 1, (const int64_t[]){-3}, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_sum(input, 2, (const int64_t[]){1, -1}, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_mean(input, -1, (const int64_t[]){1}, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim_count");
  assert_fails(htone_softmax(input, 2, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim");
  assert_fails(htone_log_softmax(input, INT64_MIN, &out), HTONE_ERROR_INVALID_ARGUMENT, "dim");
  assert_null(out);
}

static void softmax_normalises_along_a_dimension(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){0, log(3), 0, 0}, 2, 2, 2));
  assert_values(softmax_of(input, -2), 1e-7, 0.5, 0.75, 0.5, 0.25);
  htone_tensor* logs = log_softmax_of(input, 1);
  assert_values(logs, 1e-6, log(0.25), log(0.75), log(0.5), log(0.5));
  backward(sum_of(slice_of(logs, 1, 0, 1, 1)));
  assert_values(grad_of(input), 1e-6, 0.75, -0.75, 0.5, -0.5);
}

static htone_status mean_cross_entropy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out) {
  return htone_cross_entropy(logits, targets, NULL, out);
}

/* A23 */
static void a_target_that_is_no_class_is_refused(void** state) {
  (void)state;
  static const int64_t wrong[] = {-1, 3, INT64_MAX, INT64_MIN, -99};
  htone_tensor* logits = leaf(make_ramp(HTONE_F32, 2, 2, 3));
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    const int64_t values[2] = {0, wrong[i]}, shape = 2;
    htone_tensor *targets = NULL, *out = NULL;
    assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, &shape, values, &targets));
    keep_tensor(targets);
    assert_fails(htone_cross_entropy(logits, targets, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "targets");
    assert_fails(htone_accuracy(logits, targets, &out), HTONE_ERROR_INVALID_ARGUMENT, "targets");
    assert_null(out);
    assert_fails(htone_tensor_grad(logits, &out), HTONE_ERROR_STATE, "");
  }
}

static void logits_and_targets_must_fit(void** state) {
  (void)state;
  static const BinaryFn functions[] = {mean_cross_entropy, htone_accuracy};
  htone_tensor* logits = make_ramp(HTONE_F32, 2, 2, 3);
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 1, 2}, 1, 3);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    htone_tensor* out = NULL;
    assert_fails(functions[i](logits, targets, &out), HTONE_ERROR_SHAPE_MISMATCH, "targets");
    assert_fails(functions[i](make_ramp(HTONE_F32, 1, 3), targets, &out), HTONE_ERROR_SHAPE_MISMATCH, "logits");
    assert_fails(functions[i](logits, make_ramp(HTONE_I16, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH, "targets");
    assert_fails(functions[i](make_ramp(HTONE_I64, 2, 3, 3), targets, &out), HTONE_ERROR_DTYPE_MISMATCH, "logits");
    assert_null(out);
  }
}

static void accuracy_counts_the_first_of_the_largest(void** state) {
  (void)state;
  const double values[] = {1, 3, 2, 5, 5, 0, 0, NAN, 9, 7, 0, 0};
  htone_tensor* logits = leaf(make_tensor(HTONE_F32, values, 2, 4, 3));
  htone_tensor* right = make_tensor(HTONE_I64, (const double[]){1, 0, 1, 2}, 1, 4);
  htone_tensor* share = apply2(htone_accuracy, logits, right);
  assert_scalar(share);
  assert_int_equal(dtype_of(share), HTONE_F32);
  assert_values(share, 0, 0.75);
  assert_int_equal(requires_grad(share), 0);
  htone_tensor* nothing = apply2(htone_accuracy, make_ramp(HTONE_BF16, 2, 0, 3), make_ramp(HTONE_I64, 1, 0));
  assert_values(nothing, 0, NAN);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_means_run_over_the_named_dimensions),
      cmocka_unit_test(an_empty_sum_is_zero_and_an_empty_mean_is_nan),
      cmocka_unit_test(bad_dimensions_of_a_sum_are_refused),
      cmocka_unit_test(softmax_normalises_along_a_dimension),
      cmocka_unit_test(a_target_that_is_no_class_is_refused),
      cmocka_unit_test(logits_and_targets_must_fit),
      cmocka_unit_test(accuracy_counts_the_first_of_the_largest),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
