/* htone_linear_cross_entropy: memory, refusals. */
#include <stdlib.h>

#include "test_tensors.h"

typedef struct {
  htone_tensor *input, *weight, *bias, *targets;
} Head;

static htone_tensor* random_leaf(int32_t ndim, const int64_t* shape, htone_dtype dtype) {
  htone_tensor *values = NULL, *leaf = NULL;
  assert_ok(htone_randn(test_device(), HTONE_F32, ndim, shape, &values));
  assert_ok(htone_cast(keep_tensor(values), dtype, &leaf));
  assert_ok(htone_tensor_set_requires_grad(keep_tensor(leaf), 1));
  return leaf;
}

static Head make_head(int64_t rows, int64_t size, int64_t classes, htone_dtype dtype) {
  const int64_t input[] = {rows, size}, weight[] = {classes, size};
  Head head = {random_leaf(2, input, dtype), random_leaf(2, weight, dtype), random_leaf(1, &classes, dtype), NULL};
  int64_t* targets = calloc((size_t)rows, sizeof *targets);
  assert_non_null(targets);
  for (int64_t i = 0; i < rows; ++i) targets[i] = i % 3 == 0 ? -100 : i * 7 % classes;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, &rows, targets, &head.targets));
  free(targets);
  keep_tensor(head.targets);
  return head;
}

static double run_joined(Head head) {
  htone_tensor* loss = NULL;
  double value = 0;
  assert_ok(htone_linear_cross_entropy(head.input, head.weight, head.bias, head.targets, NULL, &loss));
  assert_ok(htone_tensor_backward(keep_tensor(loss), NULL, 0));
  assert_ok(htone_tensor_item(loss, &value));
  return value;
}

static double run_parts(Head head) {
  htone_tensor *logits = NULL, *loss = NULL;
  double value = 0;
  assert_ok(htone_linear(head.input, head.weight, head.bias, &logits));
  assert_ok(htone_cross_entropy(keep_tensor(logits), head.targets, NULL, &loss));
  assert_ok(htone_tensor_backward(keep_tensor(loss), NULL, 0));
  assert_ok(htone_tensor_item(loss, &value));
  return value;
}

static int64_t peak_of(double (*run)(Head head), Head head) {
  htone_memory_stats before = HTONE_MEMORY_STATS_INIT, after = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_reset_peak_memory(test_device()));
  assert_ok(htone_device_memory_stats(test_device(), &before));
  run(head);
  assert_ok(htone_device_memory_stats(test_device(), &after));
  return after.peak - before.current;
}

static void never_holds_all_logits(void** state) {
  (void)state;
  enum { kRows = 2048, kClasses = 8192 };
  const int64_t logits = (int64_t)kRows * kClasses * 4;
  const int64_t joined = peak_of(run_joined, make_head(kRows, 16, kClasses, HTONE_F32));
  assert_true(joined < logits / 4);
  assert_true(peak_of(run_parts, make_head(kRows, 16, kClasses, HTONE_F32)) >= 2 * logits);
}

static void refuses_targets_that_do_not_fit(void** state) {
  (void)state;
  const int64_t three = 3;
  const int64_t wrong[] = {0, 1, 5};
  const Head head = make_head(3, 2, 5, HTONE_F32);
  htone_tensor* targets = NULL;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, &three, wrong, &targets));
  keep_tensor(targets);
  assert_refuses(htone_linear_cross_entropy(head.input, head.weight, head.bias, targets, NULL, &out), INVALID_ARGUMENT,
                 "5");
  assert_refuses(htone_linear_cross_entropy(head.input, head.weight, head.bias, head.bias, NULL, &out), DTYPE_MISMATCH,
                 "targets is f32, expected i64 or i32");
  const Head other = make_head(4, 2, 5, HTONE_F32);
  assert_refuses(htone_linear_cross_entropy(head.input, head.weight, head.bias, other.targets, NULL, &out),
                 SHAPE_MISMATCH, "targets [4] does not fit input [3, 2]: expected [3]");
  assert_refuses(htone_linear_cross_entropy(head.input, other.input, NULL, head.targets, NULL, &out), INVALID_ARGUMENT,
                 "");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(never_holds_all_logits),
      cmocka_unit_test(refuses_targets_that_do_not_fit),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
