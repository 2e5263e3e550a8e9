/* Matrix products and the linear layer: one value each, empty sizes, the bits of joined activations, refusals. */
#include <math.h>

#include "test_tensors.h"

static htone_tensor* linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias) {
  htone_tensor* out = NULL;
  assert_ok(htone_linear(input, weight, bias, &out));
  return keep_tensor(out);
}

static void a_product_of_matrices_has_the_expected_values(void** state) {
  (void)state;
  htone_tensor *a = leaf(make_ramp(HTONE_F32, 2, 2, 3)), *b = make_ramp(HTONE_F32, 2, 3, 2);
  htone_tensor* product = apply2(htone_matmul, a, b);
  assert_shape(product, 2, 2);
  assert_values(product, 0, 10, 13, 28, 40);
  backward(sum_of(product));
  assert_values(grad_of(a), 0, 1, 5, 9, 1, 5, 9);
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
  assert_fails(htone_matmul(make_scalar(HTONE_F32, 1), make_ramp(HTONE_F32, 2, 3, 2), &out), HTONE_ERROR_SHAPE_MISMATCH,
               "a is a scalar");
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
      cmocka_unit_test(empty_sizes_multiply_to_zeros_or_nothing),
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
