/* Matrix products, and the linear layer with an activation before or behind it: memory, rounding, refusals. The cases
 * of tests/ops have the values, and tests/nn/fusion_test.cpp compares the bits of joined and single operations. */
#include <math.h>

#include "test_tensors.h"

/* 1 + 2^-8 is between two values of bf16. With silu of the value that is not rounded first, the result is another. */
static void an_activation_behind_a_layer_is_rounded_once(void** state) {
  (void)state;
  const double input[] = {1, 0.00390625}, weight[] = {1, 1}, sum = 1.00390625;
  htone_tensor *x = make_tensor(HTONE_BF16, input, 2, 1, 2), *w = make_tensor(HTONE_BF16, weight, 2, 1, 2);
  htone_tensor *joined = NULL, *product = NULL;
  assert_ok(htone_linear_activation(x, w, NULL, HTONE_ACTIVATION_SILU, &joined));
  assert_ok(htone_linear(x, w, NULL, &product));
  const double exact = sum / (1 + exp(-sum)), error = fabs(item_of(keep_tensor(joined)) - exact);
  assert_true(error <= ldexp(1, -9));
  assert_true(fabs(item_of(apply1(htone_silu, keep_tensor(product))) - exact) > error);
}

static int64_t bytes_in_use(void) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(test_device(), &stats));
  return stats.current;
}

/* Until backward, two operations would keep the activation's result beside its argument. */
static void the_argument_of_an_activation_alone_is_kept_for_backward(void** state) {
  (void)state;
  enum { kSide = 64, kWide = 256 };
  htone_tensor *x = leaf(make_noise(HTONE_F32, 1, 2, kSide, kWide)),
               *w = leaf(make_noise(HTONE_F32, 2, 2, kSide, kWide)), *out = NULL;
  const int64_t before = bytes_in_use();
  assert_ok(htone_activation_linear(x, w, NULL, HTONE_ACTIVATION_GELU_TANH, &out));
  assert_int_equal(bytes_in_use() - before, kSide * kSide * 4);
  assert_ok(htone_tensor_release(out));
  assert_int_equal(bytes_in_use(), before);
}

static void an_argument_that_was_written_since_is_refused_in_backward(void** state) {
  (void)state;
  htone_tensor *x = make_noise(HTONE_F32, 1, 2, 2, 3), *w = leaf(make_noise(HTONE_F32, 2, 2, 2, 3)), *out = NULL;
  assert_ok(htone_activation_linear(x, w, NULL, HTONE_ACTIVATION_SILU, &out));
  htone_tensor* sum = sum_of(keep_tensor(out));
  assert_ok(htone_tensor_fill(x, 1.0));
  assert_fails(htone_tensor_backward(sum, NULL, 0), HTONE_ERROR_STATE, "backward of activation_linear");
}

/* A10 */
static void inner_sizes_that_differ_are_both_named(void** state) {
  (void)state;
  htone_tensor *a = make_ramp(HTONE_F32, 2, 2, 17), *w = make_ramp(HTONE_F32, 2, 3, 19);
  htone_tensor *matrices = make_ramp(HTONE_F32, 3, 2, 2, 2), *others = make_ramp(HTONE_F32, 3, 3, 2, 2);
  const htone_activation relu = HTONE_ACTIVATION_RELU;
  assert_refuses(htone_matmul(a, make_ramp(HTONE_F32, 1, 2), &out), SHAPE_MISMATCH,
                 "a.shape[1]=17 differs from b.shape[0]=2");
  assert_refuses(htone_matmul(matrices, others, &out), SHAPE_MISMATCH, "[3, 2, 2]");
  assert_refuses(htone_linear(a, w, NULL, &out), SHAPE_MISMATCH, "17");
  assert_refuses(htone_linear(a, w, NULL, &out), SHAPE_MISMATCH, "weight.shape[1]=19");
  assert_refuses(htone_linear_activation(a, w, NULL, relu, &out), SHAPE_MISMATCH, "weight.shape[1]=19");
  assert_refuses(htone_activation_linear(a, w, NULL, relu, &out), SHAPE_MISMATCH, "weight.shape[1]=19");
  w = make_ramp(HTONE_F32, 2, 3, 17);
  assert_refuses(htone_linear(a, w, make_ramp(HTONE_F32, 1, 23), &out), SHAPE_MISMATCH, "23");
  assert_refuses(htone_activation_linear(a, w, make_ramp(HTONE_F32, 1, 23), relu, &out), SHAPE_MISMATCH, "bias");
}

static void a_scalar_is_no_factor(void** state) {
  (void)state;
  htone_tensor *scalar = make_scalar(HTONE_F32, 1), *matrix = make_ramp(HTONE_F32, 2, 2, 3);
  assert_refuses(htone_matmul(scalar, matrix, &out), SHAPE_MISMATCH, "a is a scalar");
  assert_refuses(htone_linear(scalar, matrix, NULL, &out), SHAPE_MISMATCH, "input");
  assert_refuses(htone_activation_linear(scalar, matrix, NULL, HTONE_ACTIVATION_RELU, &out), SHAPE_MISMATCH, "input");
}

/* A11 */
static void mixed_and_integer_dtypes_are_refused(void** state) {
  (void)state;
  htone_tensor *a = make_ramp(HTONE_F32, 2, 2, 2), *low = make_ramp(HTONE_BF16, 2, 2, 2);
  htone_tensor *integers = make_ramp(HTONE_I32, 2, 2, 2), *bytes = make_ramp(HTONE_F8E4M3, 2, 2, 2);
  const htone_activation relu = HTONE_ACTIVATION_RELU;
  assert_refuses(htone_matmul(a, low, &out), DTYPE_MISMATCH, "bf16");
  assert_refuses(htone_matmul(low, a, &out), DTYPE_MISMATCH, "f32");
  assert_refuses(htone_matmul(integers, integers, &out), DTYPE_MISMATCH, "i32");
  assert_refuses(htone_matmul(bytes, bytes, &out), DTYPE_MISMATCH, "f8e4m3");
  assert_refuses(htone_linear(a, low, NULL, &out), DTYPE_MISMATCH, "weight");
  assert_refuses(htone_linear(a, a, make_ramp(HTONE_BF16, 1, 2), &out), DTYPE_MISMATCH, "bias");
  assert_refuses(htone_activation_linear(a, low, NULL, relu, &out), DTYPE_MISMATCH, "weight");
  assert_refuses(htone_activation_linear(integers, a, NULL, relu, &out), DTYPE_MISMATCH, "input");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_activation_behind_a_layer_is_rounded_once),
      cmocka_unit_test(the_argument_of_an_activation_alone_is_kept_for_backward),
      cmocka_unit_test(an_argument_that_was_written_since_is_refused_in_backward),
      cmocka_unit_test(inner_sizes_that_differ_are_both_named),
      cmocka_unit_test(a_scalar_is_no_factor),
      cmocka_unit_test(mixed_and_integer_dtypes_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
