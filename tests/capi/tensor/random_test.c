/* Dropout, fills of zeros and ones, permutations: proportions, the inputs that a mask depends on, modes. */
#include <math.h>
#include <stdlib.h>

#include "test_modules.h"

enum { kCount = 100000 };

static htone_tensor* dropout_of(htone_tensor* input, double p, int32_t training) {
  htone_tensor* out = NULL;
  assert_ok(htone_dropout(input, p, training, &out));
  return keep_tensor(out);
}

/* The device of a new context; the caller releases it. */
static htone_device* device_of_seed(uint64_t seed, int32_t threads) {
  htone_context_options options;
  htone_context* context = NULL;
  htone_device* device = NULL;
  assert_ok(htone_context_options_init(&options));
  options.seed = seed;
  options.num_threads = threads;
  assert_ok(htone_context_create(&options, &context));
  assert_ok(htone_device_create(context, "cpu", &device));
  assert_ok(htone_context_release(context));
  return device;
}

/* Ones on a new context, so that dropout makes its first draw. */
static htone_tensor* ones_of_seed(uint64_t seed, int32_t threads, htone_dtype dtype) {
  htone_device* device = device_of_seed(seed, threads);
  htone_tensor* ones = NULL;
  assert_ok(htone_tensor_create_full(device, dtype, 2, (const int64_t[]){kCount / 100, 100}, 1, &ones));
  assert_ok(htone_device_release(device));
  return keep_tensor(ones);
}

static int are_same(htone_tensor* a, htone_tensor* b) {
  double *left = values_of(a), *right = values_of(b);
  int same = 1;
  for (int64_t i = 0; i < numel_of(a); ++i) same = same && left[i] == right[i];
  free(left);
  free(right);
  return same;
}

/* Asserts that elements are 0 or `kept`; returns the proportion of zeros. */
static double share_of_zeros(htone_tensor* tensor, double kept) {
  double* values = values_of(tensor);
  const int64_t count = numel_of(tensor);
  int64_t zeros = 0;
  for (int64_t i = 0; i < count; ++i) {
    assert_true(values[i] == 0 || values[i] == kept);
    zeros += values[i] == 0;
  }
  free(values);
  return (double)zeros / (double)count;
}

/* Within five standard errors of the proportion. */
static void assert_share(double share, double p) { assert_near(share, p, 5 * sqrt(p * (1 - p) / kCount)); }

static void elements_go_with_probability_p_and_the_rest_is_scaled(void** state) {
  (void)state;
  htone_tensor* ones = ones_of_seed(1, 2, HTONE_F32);
  assert_share(share_of_zeros(dropout_of(ones, 0.5, 1), 2), 0.5);
  assert_share(share_of_zeros(dropout_of(ones, 0.25, 1), (float)(1 / 0.75)), 0.25);
  assert_share(share_of_zeros(dropout_of(ones, 0.9, 1), (float)(1 / (1 - 0.9))), 0.9);
}

static void a_mask_depends_on_seed_and_draw_but_not_on_threads_or_dtype(void** state) {
  (void)state;
  htone_tensor* first = ones_of_seed(5, 1, HTONE_F32);
  htone_tensor *mask = dropout_of(first, 0.5, 1), *next = dropout_of(first, 0.5, 1);
  assert_false(are_same(mask, next));
  for (int32_t threads = 2; threads <= 5; threads += 3) {
    assert_tensors_near(dropout_of(ones_of_seed(5, threads, HTONE_F32), 0.5, 1), mask, 0);
  }
  assert_tensors_near(dropout_of(ones_of_seed(5, 2, HTONE_F64), 0.5, 1), mask, 0);
  assert_tensors_near(dropout_of(ones_of_seed(5, 2, HTONE_F16), 0.5, 1), mask, 0);
  assert_tensors_near(dropout_of(ones_of_seed(5, 2, HTONE_BF16), 0.5, 1), mask, 0);
  assert_false(are_same(dropout_of(ones_of_seed(6, 1, HTONE_F32), 0.5, 1), mask));
}

/* The gradient of a sum is one repeated element; the gradient of a transposed result has other strides. */
static void backward_draws_the_same_mask_for_transposed_tensors(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F64, 2, 30, 50));
  htone_tensor* result = dropout_of(transpose_of(input, 0, 1), 0.5, 1);
  htone_tensor* weights = make_noise(HTONE_F64, 9, 2, 30, 50);
  backward(sum_of(apply2(htone_mul, transpose_of(result, 0, 1), weights)));
  double *in = values_of(input), *out = values_of(transpose_of(result, 0, 1)), *grad = values_of(grad_of(input)),
         *w = values_of(weights);
  for (int i = 1; i < 1500; ++i) assert_near(grad[i], out[i] / in[i] * w[i], 1e-12);
  free(in);
  free(out);
  free(grad);
  free(w);
}

static void the_module_drops_in_training_alone(void** state) {
  (void)state;
  htone_module* module = NULL;
  htone_tensor* ones = ones_of_seed(1, 2, HTONE_F32);
  assert_ok(htone_module_create_dropout(0.5, &module));
  keep_module(module);
  assert_share(share_of_zeros(forward(module, ones), 2), 0.5);
  assert_ok(htone_module_set_training(module, 0));
  assert_tensors_near(forward(module, ones), ones, 0);
  assert_ok(htone_module_set_training(module, 1));
  assert_share(share_of_zeros(forward(module, ones), 2), 0.5);
}

static void a_failed_call_takes_no_draw(void** state) {
  (void)state;
  htone_tensor *ones = ones_of_seed(5, 1, HTONE_F32), *out = NULL;
  htone_tensor* expected = dropout_of(ones_of_seed(5, 1, HTONE_F32), 0.5, 1);
  assert_fails(htone_dropout(ones, 1.5, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "p=1.5");
  assert_fails(htone_dropout(ones, NAN, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "p=");
  assert_fails(htone_dropout(ones, 0.5, 1, NULL), HTONE_ERROR_INVALID_ARGUMENT, "out");
  assert_fails(htone_dropout(make_ramp(HTONE_I32, 1, 3), 0.5, 1, &out), HTONE_ERROR_DTYPE_MISMATCH, "input is i32");
  assert_null(out);
  assert_tensors_near(dropout_of(ones, 0.5, 1), expected, 0);
}

static void a_bernoulli_fill_is_one_with_probability_p(void** state) {
  (void)state;
  const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_BF16, HTONE_I64, HTONE_U8, HTONE_BOOL};
  htone_tensor* first = ones_of_seed(3, 1, HTONE_F32);
  assert_ok(htone_init_bernoulli(first, 0.3));
  assert_share(share_of_zeros(first, 1), 0.7);
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* other = ones_of_seed(3, 2, dtypes[i]);
    assert_ok(htone_init_bernoulli(other, 0.3));
    assert_tensors_near(other, first, 0);
  }
  assert_ok(htone_init_bernoulli(first, 0));
  assert_true(share_of_zeros(first, 1) == 1);
  assert_ok(htone_init_bernoulli(first, 1));
  assert_true(share_of_zeros(first, 1) == 0);
}

static htone_tensor* permutation_of(htone_device* device, int64_t n) {
  htone_tensor* out = NULL;
  assert_ok(htone_randperm(device, n, &out));
  return keep_tensor(out);
}

static void a_permutation_has_every_number_once(void** state) {
  (void)state;
  htone_tensor* order = permutation_of(test_device(), kCount);
  assert_int_equal(dtype_of(order), HTONE_I64);
  assert_shape(order, kCount);
  double* values = values_of(order);
  char* seen = calloc(kCount, 1);
  int64_t in_place = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    assert_true(values[i] >= 0 && values[i] < kCount);
    assert_int_equal(seen[(int64_t)values[i]]++, 0);
    in_place += values[i] == (double)i;
  }
  assert_true(in_place < 10); /* one is expected to stay in place; ten stay in one of 10^7 permutations */
  free(seen);
  free(values);
  assert_shape(permutation_of(test_device(), 0), 0);
  assert_values(permutation_of(test_device(), 1), 0, 0);
}

static void a_permutation_depends_on_seed_and_draw_alone(void** state) {
  (void)state;
  htone_device *one = device_of_seed(7, 1), *same = device_of_seed(7, 3), *other = device_of_seed(8, 1);
  htone_tensor *first = permutation_of(one, 1000), *second = permutation_of(one, 1000);
  assert_false(are_same(first, second));
  assert_tensors_near(permutation_of(same, 1000), first, 0);
  assert_tensors_near(permutation_of(same, 1000), second, 0);
  assert_false(are_same(permutation_of(other, 1000), first));
  assert_ok(htone_device_release(one));
  assert_ok(htone_device_release(same));
  assert_ok(htone_device_release(other));
}

/* Each of the six orders is expected 2000 times, with a standard error of 41. */
static void every_permutation_is_equally_likely(void** state) {
  (void)state;
  int counts[6] = {0};
  htone_device* device = device_of_seed(1, 1);
  for (int i = 0; i < 12000; ++i) {
    int64_t order[3];
    htone_tensor* out = NULL;
    assert_ok(htone_randperm(device, 3, &out));
    assert_ok(htone_tensor_read(out, HTONE_I64, order, sizeof order));
    assert_ok(htone_tensor_release(out));
    ++counts[2 * order[0] + (order[1] > order[2])];
  }
  assert_ok(htone_device_release(device));
  for (int i = 0; i < 6; ++i) assert_near(counts[i], 2000, 5 * 41);
}

static void a_permutation_that_cannot_be_takes_no_draw(void** state) {
  (void)state;
  htone_device *one = device_of_seed(7, 1), *same = device_of_seed(7, 1);
  htone_tensor* out = NULL;
  assert_fails(htone_randperm(one, -1, &out), HTONE_ERROR_INVALID_ARGUMENT, "n=-1");
  assert_fails(htone_randperm(one, 3, NULL), HTONE_ERROR_INVALID_ARGUMENT, "out is NULL");
  assert_null(out);
  assert_tensors_near(permutation_of(one, 100), permutation_of(same, 100), 0);
  assert_ok(htone_device_release(one));
  assert_ok(htone_device_release(same));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_go_with_probability_p_and_the_rest_is_scaled),
      cmocka_unit_test(a_mask_depends_on_seed_and_draw_but_not_on_threads_or_dtype),
      cmocka_unit_test(backward_draws_the_same_mask_for_transposed_tensors),
      cmocka_unit_test(the_module_drops_in_training_alone),
      cmocka_unit_test(a_failed_call_takes_no_draw),
      cmocka_unit_test(a_bernoulli_fill_is_one_with_probability_p),
      cmocka_unit_test(a_permutation_has_every_number_once),
      cmocka_unit_test(a_permutation_depends_on_seed_and_draw_alone),
      cmocka_unit_test(every_permutation_is_equally_likely),
      cmocka_unit_test(a_permutation_that_cannot_be_takes_no_draw),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
