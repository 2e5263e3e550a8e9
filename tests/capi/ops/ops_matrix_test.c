/* Matrix products and the linear layer: values, batches, layouts, refusals. */
#include <math.h>

#include "test_tensors.h"

static htone_tensor* linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias) {
  htone_tensor* out = NULL;
  assert_ok(htone_linear(input, weight, bias, &out));
  return keep_tensor(out);
}

static void a_product_of_matrices_has_the_expected_values(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* a = make_ramp(dtypes[i], 2, 2, 3);
    htone_tensor* product = apply2(htone_matmul, a, make_ramp(dtypes[i], 2, 3, 2));
    assert_int_equal(dtype_of(product), dtypes[i]);
    assert_shape(product, 2, 2);
    assert_values(product, 0, 10, 13, 28, 40);
  }
}

static void transposed_and_sliced_matrices_multiply_where_they_lie(void** state) {
  (void)state;
  htone_tensor* a = transpose_of(make_ramp(HTONE_F32, 2, 3, 2), 0, 1);   /* 0 2 4, 1 3 5 */
  htone_tensor* b = slice_of(make_ramp(HTONE_F32, 2, 3, 4), 1, 1, 4, 2); /* 1 3, 5 7, 9 11 */
  assert_values(apply2(htone_matmul, a, b), 0, 46, 58, 61, 79);
}

static void leading_dimensions_are_batches_that_broadcast(void** state) {
  (void)state;
  htone_tensor* a = make_ramp(HTONE_F32, 4, 2, 1, 1, 2); /* rows 0 1; 2 3 */
  htone_tensor* b = make_ramp(HTONE_F32, 3, 3, 2, 1);    /* columns 0 1; 2 3; 4 5 */
  htone_tensor* product = apply2(htone_matmul, a, b);
  assert_shape(product, 2, 3, 1, 1);
  assert_values(product, 0, 1, 3, 5, 3, 13, 23);
}

/* A9 */
static void empty_sizes_multiply_to_zeros_or_nothing(void** state) {
  (void)state;
  htone_tensor* nothing = apply2(htone_matmul, make_ramp(HTONE_F32, 2, 0, 3), make_ramp(HTONE_F32, 2, 3, 2));
  assert_shape(nothing, 0, 2);
  htone_tensor* zeros = apply2(htone_matmul, make_ramp(HTONE_F32, 2, 2, 0), make_ramp(HTONE_F32, 2, 0, 2));
  assert_values(zeros, 0, 0, 0, 0, 0);
  htone_tensor* bias = make_tensor(HTONE_F32, (const double[]){5, 6}, 1, 2);
  assert_values(linear(make_ramp(HTONE_F32, 2, 1, 0), make_ramp(HTONE_F32, 2, 2, 0), bias), 0, 5, 6);
  assert_shape(linear(make_ramp(HTONE_F32, 3, 0, 4, 3), make_ramp(HTONE_F32, 2, 2, 3), bias), 0, 4, 2);
}

/* The kernel sums in FP32 and rounds once: in bf16, 1 + 256 * 2^-8 is 2 only if the small products are not lost one by
 * one. */
static void low_precision_products_accumulate_in_fp32(void** state) {
  (void)state;
  double values[257];
  values[0] = 1;
  for (int i = 1; i < 257; ++i) values[i] = 1.0 / 256;
  htone_tensor* row = make_tensor(HTONE_BF16, values, 2, 1, 257);
  for (int i = 0; i < 257; ++i) values[i] = 1;
  htone_tensor* column = make_tensor(HTONE_BF16, values, 2, 257, 1);
  assert_values(apply2(htone_matmul, row, column), 0, 2);
}

static void odd_and_large_matrices_agree_with_double_precision(void** state) {
  (void)state;
  static const int sizes[][3] = {{1, 1, 1}, {1, 7, 17}, {17, 1, 33}, {31, 65, 5}, {130, 257, 67}};
  for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
    const int m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
    htone_tensor* a = make_noise(HTONE_F32, 1, 2, m, k);
    htone_tensor* b = make_noise(HTONE_F32, 2, 2, k, n);
    htone_tensor* wide = apply2(htone_matmul, cast_of(a, HTONE_F64), cast_of(b, HTONE_F64));
    htone_tensor* error = apply2(htone_sub, apply2(htone_matmul, a, b), wide);
    const double total = item_of(sum_of(apply2(htone_mul, error, error)));
    assert_true(sqrt(total / (m * n)) <= 1.2e-7 * sqrt(k) * 2);
  }
}

static void the_linear_layer_multiplies_by_the_transpose_and_adds_the_bias(void** state) {
  (void)state;
  htone_tensor* weight = make_ramp(HTONE_F32, 2, 2, 3);
  htone_tensor* bias = make_tensor(HTONE_F32, (const double[]){100, 200}, 1, 2);
  htone_tensor* input = make_ramp(HTONE_F32, 3, 2, 1, 3);
  assert_shape(linear(input, weight, NULL), 2, 1, 2);
  assert_values(linear(input, weight, NULL), 0, 5, 14, 14, 50);
  assert_values(linear(input, weight, bias), 0, 105, 214, 114, 250);
  htone_tensor* row = linear(make_ramp(HTONE_F32, 1, 3), weight, bias);
  assert_shape(row, 2);
  assert_values(row, 0, 105, 214);
}

/* The activations as operations of their own. */
static htone_tensor* activation_of(htone_tensor* input, htone_activation activation) {
  htone_tensor* out = NULL;
  switch (activation) {
    case HTONE_ACTIVATION_RELU:
      assert_ok(htone_relu(input, &out));
      break;
    case HTONE_ACTIVATION_SILU:
      assert_ok(htone_silu(input, &out));
      break;
    default:
      assert_ok(htone_gelu(input, activation == HTONE_ACTIVATION_GELU_ERF ? HTONE_GELU_ERF : HTONE_GELU_TANH, &out));
  }
  return keep_tensor(out);
}

enum { kLayerRows = 19, kLayerIn = 5, kLayerOut = 35 };

/* Values on both sides of 0. */
static htone_tensor* wave(htone_dtype dtype, int64_t ndim, int64_t rows, int64_t columns) {
  double values[kLayerRows * kLayerOut];
  for (int64_t i = 0; i < rows * columns; ++i) values[i] = sin((double)i * 0.7 + (double)rows) / 2;
  htone_tensor* made =
      ndim == 1 ? make_tensor(dtype, values, 1, columns) : make_tensor(dtype, values, 2, rows, columns);
  assert_ok(htone_tensor_set_requires_grad(made, 1));
  return made;
}

static void assert_same_values(htone_tensor* a, htone_tensor* b) {
  double left[kLayerRows * kLayerOut], right[kLayerRows * kLayerOut];
  const size_t bytes = (size_t)numel_of(a) * sizeof *left;
  assert_int_equal(numel_of(a), numel_of(b));
  assert_ok(htone_tensor_read(a, HTONE_F64, left, bytes));
  assert_ok(htone_tensor_read(b, HTONE_F64, right, bytes));
  assert_memory_equal(left, right, bytes);
}

/* The results of a layer and its activation, in one operation or in two, and the gradients that they give. */
static void run_layer(htone_dtype dtype, htone_activation activation, int is_fused, htone_tensor* out[4]) {
  htone_tensor* operands[] = {wave(dtype, 2, kLayerRows, kLayerIn), wave(dtype, 2, kLayerOut, kLayerIn),
                              wave(dtype, 1, 1, kLayerOut)};
  htone_tensor *square = NULL, *loss = NULL;
  if (is_fused) {
    assert_ok(htone_linear_activation(operands[0], operands[1], operands[2], activation, &out[0]));
    keep_tensor(out[0]);
  } else {
    out[0] = activation_of(linear(operands[0], operands[1], operands[2]), activation);
  }
  assert_ok(htone_mul(out[0], out[0], &square));
  keep_tensor(square);
  assert_ok(htone_sum(square, 0, NULL, 0, &loss));
  keep_tensor(loss);
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  for (int i = 0; i < 3; ++i) {
    assert_ok(htone_tensor_grad(operands[i], &out[1 + i]));
    keep_tensor(out[1 + i]);
  }
}

static void a_layer_and_its_activation_give_the_same_bits_as_one_operation(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_F64};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    for (htone_activation kind = HTONE_ACTIVATION_RELU; kind <= HTONE_ACTIVATION_SILU; ++kind) {
      htone_tensor *fused[4] = {NULL}, *apart[4] = {NULL};
      run_layer(dtypes[i], kind, 1, fused);
      run_layer(dtypes[i], kind, 0, apart);
      for (int part = 0; part < 4; ++part) assert_same_values(fused[part], apart[part]);
    }
  }
}

/* 1 + 2^-8 is between two values of bf16. With silu of the value that is not rounded first, the result is another. */
static void an_activation_in_one_operation_is_rounded_once(void** state) {
  (void)state;
  const double input[] = {1, 0.00390625}, weight[] = {1, 1}, sum = 1.00390625;
  htone_tensor *fused = NULL, *x = make_tensor(HTONE_BF16, input, 2, 1, 2),
               *w = make_tensor(HTONE_BF16, weight, 2, 1, 2);
  assert_ok(htone_linear_activation(x, w, NULL, HTONE_ACTIVATION_RELU, &fused));
  keep_tensor(fused);
  assert_values(fused, 0, 1);
  assert_ok(htone_linear_activation(x, w, NULL, HTONE_ACTIVATION_SILU, &fused));
  keep_tensor(fused);
  double got = 0, exact = sum / (1 + exp(-sum)), apart = 0;
  assert_ok(htone_tensor_read(fused, HTONE_F64, &got, sizeof got));
  assert_ok(
      htone_tensor_read(activation_of(linear(x, w, NULL), HTONE_ACTIVATION_SILU), HTONE_F64, &apart, sizeof apart));
  assert_true(fabs(got - exact) <= ldexp(1, -9));
  assert_true(fabs(apart - exact) > fabs(got - exact));
}

static void an_unknown_activation_is_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *a = make_ramp(HTONE_F32, 2, 2, 2);
  assert_fails(htone_linear_activation(a, a, NULL, (htone_activation)0, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "activation=0");
  assert_fails(htone_linear_activation(a, a, NULL, (htone_activation)5, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "activation=5");
  assert_fails(htone_linear_activation(a, make_ramp(HTONE_F32, 2, 2, 3), NULL, HTONE_ACTIVATION_RELU, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "weight.shape[1]=3");
  assert_null(out);
}

/* A10 */
static void inner_sizes_that_differ_are_both_named(void** state) {
  (void)state;
  htone_tensor *out = NULL, *a = make_ramp(HTONE_F32, 2, 2, 17), *b = make_ramp(HTONE_F32, 2, 19, 3);
  assert_fails(htone_matmul(a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "17");
  assert_fails(htone_matmul(a, b, &out), HTONE_ERROR_SHAPE_MISMATCH, "19");
  assert_fails(htone_linear(a, make_ramp(HTONE_F32, 2, 3, 19), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH, "17");
  assert_fails(htone_linear(a, make_ramp(HTONE_F32, 2, 3, 19), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH, "19");
  assert_fails(htone_linear(a, make_ramp(HTONE_F32, 2, 3, 17), make_ramp(HTONE_F32, 1, 23), &out),
               HTONE_ERROR_SHAPE_MISMATCH, "23");
  assert_fails(htone_matmul(make_ramp(HTONE_F32, 3, 2, 2, 2), make_ramp(HTONE_F32, 3, 3, 2, 2), &out),
               HTONE_ERROR_SHAPE_MISMATCH, "[3, 2, 2]");
  assert_null(out);
}

static void a_scalar_is_no_factor(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  assert_fails(htone_matmul(make_scalar(HTONE_F32, 1), make_ramp(HTONE_F32, 2, 3, 2), &out),
               HTONE_ERROR_SHAPE_MISMATCH, "a is a scalar");
  assert_fails(htone_matmul(make_ramp(HTONE_F32, 2, 2, 3), make_ramp(HTONE_F32, 1, 2), &out),
               HTONE_ERROR_SHAPE_MISMATCH, "a.shape[1]=3 differs from b.shape[0]=2");
  assert_fails(htone_linear(make_scalar(HTONE_F32, 1), make_ramp(HTONE_F32, 2, 2, 3), NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "input");
  assert_null(out);
}

/* A11 */
static void mixed_and_integer_dtypes_are_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *a = make_ramp(HTONE_F32, 2, 2, 2), *low = make_ramp(HTONE_BF16, 2, 2, 2);
  htone_tensor* bias = make_ramp(HTONE_BF16, 1, 2);
  assert_fails(htone_matmul(a, low, &out), HTONE_ERROR_DTYPE_MISMATCH, "bf16");
  assert_fails(htone_matmul(low, a, &out), HTONE_ERROR_DTYPE_MISMATCH, "f32");
  assert_fails(htone_linear(a, low, NULL, &out), HTONE_ERROR_DTYPE_MISMATCH, "weight");
  assert_fails(htone_linear(a, a, bias, &out), HTONE_ERROR_DTYPE_MISMATCH, "bias");
  htone_tensor* integers = make_ramp(HTONE_I32, 2, 2, 2);
  assert_fails(htone_matmul(integers, integers, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_fails(htone_matmul(make_ramp(HTONE_F8E4M3, 2, 2, 2), make_ramp(HTONE_F8E4M3, 2, 2, 2), &out),
               HTONE_ERROR_DTYPE_MISMATCH, "f8e4m3");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_of_matrices_has_the_expected_values),
      cmocka_unit_test(transposed_and_sliced_matrices_multiply_where_they_lie),
      cmocka_unit_test(leading_dimensions_are_batches_that_broadcast),
      cmocka_unit_test(empty_sizes_multiply_to_zeros_or_nothing),
      cmocka_unit_test(low_precision_products_accumulate_in_fp32),
      cmocka_unit_test(odd_and_large_matrices_agree_with_double_precision),
      cmocka_unit_test(the_linear_layer_multiplies_by_the_transpose_and_adds_the_bias),
      cmocka_unit_test(a_layer_and_its_activation_give_the_same_bits_as_one_operation),
      cmocka_unit_test(an_activation_in_one_operation_is_rounded_once),
      cmocka_unit_test(an_unknown_activation_is_refused),
      cmocka_unit_test(inner_sizes_that_differ_are_both_named),
      cmocka_unit_test(a_scalar_is_no_factor),
      cmocka_unit_test(mixed_and_integer_dtypes_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
