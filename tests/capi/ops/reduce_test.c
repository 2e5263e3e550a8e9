/* Reductions: empty and huge inputs, accuracy, and what they refuse. tests/vectors has their values and gradients. */
#include <math.h>

#include "test_tensors.h"

typedef htone_status (*ReduceFn)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);
typedef htone_status (*AlongFn)(htone_tensor*, int64_t, int32_t, htone_tensor**);
typedef htone_status (*PairFn)(htone_tensor*, int64_t, int32_t, htone_tensor**, htone_tensor**);

static htone_tensor* reduce(ReduceFn function, htone_tensor* input, int32_t count, const int64_t* dims) {
  htone_tensor* out = NULL;
  assert_ok(function(input, count, dims, 0, &out));
  return keep_tensor(out);
}

/* A9 */
static void nothing_has_no_extreme(void** state) {
  (void)state;
  static const ReduceFn reductions[] = {htone_amax, htone_amin};
  static const AlongFn places[] = {htone_argmax, htone_argmin};
  static const PairFn pairs[] = {htone_max_dim, htone_min_dim};
  htone_tensor *empty = make_ramp(HTONE_F32, 2, 0, 3), *place = NULL, *values = NULL, *indices = NULL;
  const int64_t first = 0, last = 1;
  for (int i = 0; i < 2; ++i) {
    assert_refuses(reductions[i](empty, 0, NULL, 0, &out), INVALID_ARGUMENT, "dims");
    assert_refuses(reductions[i](empty, 1, &first, 0, &out), INVALID_ARGUMENT, "dims");
    assert_refuses(places[i](empty, 0, 1, &out), INVALID_ARGUMENT, "dim");
    assert_refuses(pairs[i](empty, 0, 0, &out, &indices), INVALID_ARGUMENT, "dim");
    assert_null(indices);
    assert_shape(reduce(reductions[i], empty, 1, &last), 0);
    assert_ok(places[i](empty, 1, 1, &place));
    assert_shape(keep_tensor(place), 0, 1);
    assert_ok(pairs[i](empty, -1, 0, &values, &indices));
    keep_tensor(values);
    assert_shape(keep_tensor(indices), 0);
    indices = NULL;
  }
  assert_refuses(htone_vector_norm(empty, INFINITY, 0, NULL, 0, &out), INVALID_ARGUMENT, "dims");
  assert_refuses(htone_vector_norm(empty, -1, 0, NULL, 0, &out), INVALID_ARGUMENT, "p=-1");
}

static void products_of_nothing_with_a_huge_size_end_at_once(void** state) {
  (void)state;
  const int64_t shapes[][2] = {{INT64_C(1) << 40, 0}, {0, INT64_C(1) << 40}}, first[] = {0};
  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    htone_tensor* x = NULL;
    assert_ok(htone_tensor_create_ones(test_device(), HTONE_F32, 2, shapes[i], &x));
    leaf(keep_tensor(x));
    for (int64_t dim = 0; dim < 2; ++dim) {
      htone_tensor* running = NULL;
      assert_ok(htone_cumprod(x, dim, &running));
      backward(sum_of(keep_tensor(running)));
    }
    if (i == 0) backward(sum_of(reduce(htone_prod, x, 1, first)));
    backward(reduce(htone_prod, x, 0, NULL));
  }
}

/* Computed from a result that was rounded at 1e6, the probabilities would be wrong by 3 %. */
static void the_gradient_of_log_sum_exp_keeps_its_digits_for_large_entries(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){1e6, 1e6 - 1, 1e6 - 3}, 1, 3));
  backward(reduce(htone_log_sum_exp, input, 0, NULL));
  const double sum = 1 + exp(-1) + exp(-3);
  assert_values(grad_of(input), 1e-6, 1 / sum, exp(-1) / sum, exp(-3) / sum);
}

static void storage_formats_and_integers_are_refused(void** state) {
  (void)state;
  htone_tensor *bytes = make_ramp(HTONE_F8E4M3, 1, 2), *integers = make_ramp(HTONE_I32, 1, 2), *indices = NULL;
  assert_refuses(htone_amax(bytes, 0, NULL, 0, &out), DTYPE_MISMATCH, "input");
  assert_refuses(htone_max_dim(bytes, 0, 0, &out, &indices), DTYPE_MISMATCH, "input");
  assert_refuses(htone_argmin(bytes, 0, 0, &out), DTYPE_MISMATCH, "input");
  assert_refuses(htone_cumsum(bytes, 0, &out), DTYPE_MISMATCH, "input");
  assert_refuses(htone_prod(bytes, 0, NULL, 0, &out), DTYPE_MISMATCH, "input is f8e4m3");
  assert_refuses(htone_cumprod(bytes, 0, &out), DTYPE_MISMATCH, "input is f8e4m3");
  assert_refuses(htone_std(bytes, 0, NULL, 1, 0, &out), DTYPE_MISMATCH, "input is f8e4m3");
  assert_refuses(htone_var(integers, 0, NULL, 1, 0, &out), DTYPE_MISMATCH, "input is i32");
  assert_refuses(htone_log_sum_exp(integers, 0, NULL, 0, &out), DTYPE_MISMATCH, "input");
  assert_refuses(htone_vector_norm(integers, 2, 0, NULL, 0, &out), DTYPE_MISMATCH, "input is i32");
  assert_refuses(htone_mean(integers, 0, NULL, 0, &out), DTYPE_MISMATCH, "i32");
  assert_refuses(htone_softmax(integers, 0, &out), DTYPE_MISMATCH, "i32");
  assert_refuses(htone_log_softmax(integers, 0, &out), DTYPE_MISMATCH, "i32");
  assert_null(indices);
}

/* The misuse test has dimensions that are not there. */
static void a_dimension_is_named_once(void** state) {
  (void)state;
  static const ReduceFn functions[] = {htone_sum, htone_mean, htone_amin, htone_prod, htone_any, htone_log_sum_exp};
  htone_tensor* input = make_ramp(HTONE_F32, 2, 2, 2);
  const int64_t twice[] = {1, -1};
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_refuses(functions[i](input, 2, twice, 0, &out), INVALID_ARGUMENT, "dims names dimension 1 twice");
  }
  assert_refuses(htone_std(input, 2, twice, 1, 0, &out), INVALID_ARGUMENT, "dims names dimension 1 twice");
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
    htone_tensor* targets = NULL;
    assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, &shape, values, &targets));
    keep_tensor(targets);
    assert_refuses(htone_cross_entropy(logits, targets, NULL, &out), INVALID_ARGUMENT, "targets");
    assert_refuses(htone_accuracy(logits, targets, &out), INVALID_ARGUMENT, "targets");
    assert_refuses(htone_tensor_grad(logits, &out), STATE, "");
  }
}

static void logits_and_targets_must_fit(void** state) {
  (void)state;
  static const BinaryFn functions[] = {mean_cross_entropy, htone_accuracy};
  htone_tensor *logits = make_ramp(HTONE_F32, 2, 2, 3), *targets = make_ramp(HTONE_I64, 1, 3);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_refuses(functions[i](logits, targets, &out), SHAPE_MISMATCH, "targets");
    assert_refuses(functions[i](make_ramp(HTONE_F32, 1, 3), targets, &out), SHAPE_MISMATCH, "logits");
    assert_refuses(functions[i](logits, make_ramp(HTONE_I16, 1, 2), &out), DTYPE_MISMATCH, "targets");
    assert_refuses(functions[i](make_ramp(HTONE_I64, 2, 3, 3), targets, &out), DTYPE_MISMATCH, "logits");
  }
}

static void accuracy_counts_the_first_of_the_largest(void** state) {
  (void)state;
  const double values[] = {1, 3, 2, 5, 5, 0, 0, NAN, 9, 7, 0, 0};
  htone_tensor* logits = leaf(make_tensor(HTONE_F32, values, 2, 4, 3));
  htone_tensor* right = make_tensor(HTONE_I64, (const double[]){1, 0, 1, 2}, 1, 4);
  htone_tensor* share = apply2(htone_accuracy, logits, right);
  assert_scalar(share);
  assert_values(share, 0, 0.75);
  assert_values(apply2(htone_accuracy, make_ramp(HTONE_BF16, 2, 0, 3), make_ramp(HTONE_I64, 1, 0)), 0, NAN);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_has_no_extreme),
      cmocka_unit_test(products_of_nothing_with_a_huge_size_end_at_once),
      cmocka_unit_test(the_gradient_of_log_sum_exp_keeps_its_digits_for_large_entries),
      cmocka_unit_test(storage_formats_and_integers_are_refused),
      cmocka_unit_test(a_dimension_is_named_once),
      cmocka_unit_test(a_target_that_is_no_class_is_refused),
      cmocka_unit_test(logits_and_targets_must_fit),
      cmocka_unit_test(accuracy_counts_the_first_of_the_largest),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
