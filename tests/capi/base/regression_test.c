/* Faults that were found by attacking the interface, each with the smallest program that shows it. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "halftone/halftone.h"
#include "test_modules.h"

static void a_gradient_of_another_width_reaches_products_converted(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  const double ones[] = {1, 1, 1, 1};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    for (size_t j = 0; j < COUNT_OF(dtypes); ++j) {
      htone_tensor *a = leaf(make_tensor(dtypes[i], ones, 2, 2, 2)), *b = make_tensor(dtypes[i], ones, 2, 2, 2);
      htone_tensor* gradient = make_tensor(dtypes[j], ones, 2, 2, 2);
      assert_ok(htone_tensor_backward(apply2(htone_matmul, a, b), gradient, 0));
      assert_values(grad_of(a), 0, 2, 2, 2, 2);
    }
  }
}

/* The result is written into the gradient's memory. From some size on, a kernel that still reads the gradient there
 * would give wrong values. */
static void a_leafs_own_gradient_may_be_handed_back(void** state) {
  (void)state;
  enum { kSize = 40 };
  htone_tensor *x = leaf(make_noise(HTONE_F32, 1, 2, kSize, kSize)), *w = make_noise(HTONE_F32, 2, 2, kSize, kSize);
  htone_tensor* other = leaf(make_noise(HTONE_F32, 3, 2, kSize, kSize));
  backward(sum_of(apply2(htone_mul, x, w)));
  htone_tensor* expected = apply2(htone_add, w, apply2(htone_matmul, w, transpose_of(w, 0, 1)));
  assert_ok(htone_tensor_backward(apply2(htone_matmul, x, w), grad_of(x), 0));
  double *actual_values = values_of(grad_of(x)), *expected_values = values_of(expected);
  for (int i = 0; i < kSize * kSize; ++i) assert_near(actual_values[i], expected_values[i], 1e-4);
  /* Both operands of a sum get the gradient that was passed to backward. */
  const double handed_in = actual_values[7];
  free(actual_values);
  assert_ok(htone_tensor_backward(apply2(htone_add, x, other), grad_of(x), 0));
  actual_values = values_of(grad_of(other));
  assert_true(actual_values[7] == handed_in);
  free(actual_values);
  free(expected_values);
}

static void a_gradient_may_be_an_operand(void** state) {
  (void)state;
  enum { kSize = 40 };
  htone_tensor* w = leaf(make_noise(HTONE_F32, 2, 2, kSize, kSize));
  htone_tensor *y = NULL, *copy = NULL;
  backward(sum_of(apply2(htone_mul, w, make_noise(HTONE_F32, 4, 2, kSize, kSize))));
  assert_ok(htone_rescale(grad_of(w), 1, 0, &copy));
  keep_tensor(copy);
  assert_ok(htone_linear(grad_of(w), w, NULL, &y));
  backward(sum_of(keep_tensor(y)));
  /* dW = dY^T X: every row is the column sums of X, added to the previous gradient. */
  double *x = values_of(copy), *actual = values_of(grad_of(w));
  for (int column = 0; column < kSize; ++column) {
    double sum = 0;
    for (int row = 0; row < kSize; ++row) sum += x[row * kSize + column];
    for (int row = 0; row < kSize; ++row) {
      assert_near(actual[row * kSize + column], x[row * kSize + column] + sum, 1e-4);
    }
  }
  free(x);
  free(actual);
}

/* A8 */
static void a_product_too_large_to_count_is_refused(void** state) {
  (void)state;
  const int64_t tall[] = {INT64_C(1) << 31, 0}, wide[] = {0, INT64_C(1) << 31}, taller[] = {INT64_C(1) << 33, 0};
  htone_tensor *a = NULL, *b = NULL, *c = NULL, *out = NULL;
  assert_ok(htone_tensor_create(test_device(), HTONE_F32, 2, tall, &a));
  assert_ok(htone_tensor_create(test_device(), HTONE_F32, 2, wide, &b));
  assert_ok(htone_tensor_create(test_device(), HTONE_F32, 2, taller, &c));
  keep_tensor(a);
  keep_tensor(b);
  keep_tensor(c);
  assert_fails(htone_matmul(a, b, &out), HTONE_ERROR_INVALID_ARGUMENT, "shape");
  assert_fails(htone_matmul(c, b, &out), HTONE_ERROR_INVALID_ARGUMENT, "shape");
  assert_fails(htone_linear(a, a, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "shape");
  assert_null(out);
}

/* A14 */
static void a_write_from_the_tensors_own_memory_is_right(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 1, 8);
  htone_tensor* view = slice_of(base, 0, 1, 8, 1);
  void* data = NULL;
  assert_ok(htone_tensor_data(base, &data));
  assert_ok(htone_tensor_write(view, HTONE_F32, data, 7 * sizeof(float)));
  assert_values(base, 0, 0, 0, 1, 2, 3, 4, 5, 6);
}

static htone_status status_in_deleter;
static void begin_a_scope(void* user) {
  htone_scope* scope = NULL;
  (void)user;
  status_in_deleter = htone_no_grad_begin(&scope);
}

static void a_deleter_in_the_middle_of_backward_cannot_change_the_modes(void** state) {
  (void)state;
  const int64_t shape[] = {2};
  float memory[] = {3, 4};
  htone_tensor *buffer = NULL, *product = NULL;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  status_in_deleter = HTONE_OK;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, shape, memory, begin_a_scope, NULL, &buffer));
  assert_ok(htone_mul(x, buffer, &product));
  keep_tensor(product);
  htone_tensor* loss = sum_of(product);
  assert_ok(htone_tensor_release(buffer)); /* now only the graph keeps it */
  backward(loss);
  assert_int_equal(status_in_deleter, HTONE_ERROR_STATE);
  assert_values(grad_of(x), 0, 3, 4);
}

/* A24 */
static void messages_are_utf8_and_texts_end_where_they_are_cut(void** state) {
  (void)state;
  htone_device* device = NULL;
  assert_fails(htone_device_create(test_context(), "d\xc3\xa9v\xff\xc3", &device), HTONE_ERROR_DEVICE, "d\xc3\xa9v??");
  assert_fails(htone_context_load_plugin(test_context(), ""), HTONE_ERROR_INVALID_ARGUMENT, "path");
  union {
    htone_error_info info;
    unsigned char bytes[sizeof(htone_error_info)];
  } cut;
  memset(&cut, 'Z', sizeof cut);
  cut.info.struct_size = offsetof(htone_error_info, message) + 8;
  assert_ok(htone_error_last(&cut.info));
  assert_memory_equal(cut.info.message, "htone_c\0ZZ", 10);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gradient_of_another_width_reaches_products_converted),
      cmocka_unit_test(a_leafs_own_gradient_may_be_handed_back),
      cmocka_unit_test(a_gradient_may_be_an_operand),
      cmocka_unit_test(a_product_too_large_to_count_is_refused),
      cmocka_unit_test(a_write_from_the_tensors_own_memory_is_right),
      cmocka_unit_test(a_deleter_in_the_middle_of_backward_cannot_change_the_modes),
      cmocka_unit_test(messages_are_utf8_and_texts_end_where_they_are_cut),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
