/* Copies of tensors: values, layouts, gradients, writes into other tensors, refusals. */

#include "test_tensors.h"

static const htone_dtype kDtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3, HTONE_F8E5M2,
                                      HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8,   HTONE_U8,     HTONE_BOOL};

static htone_tensor* to_dtype(htone_tensor* tensor, htone_dtype dtype) {
  htone_tensor* out = NULL;
  assert_ok(htone_tensor_to(tensor, NULL, dtype, &out));
  return keep_tensor(out);
}

static int is_contiguous(htone_tensor* tensor) {
  int32_t answer = -1;
  assert_ok(htone_tensor_is_contiguous(tensor, &answer));
  return answer;
}

static void* data_of(htone_tensor* tensor) {
  void* data = NULL;
  assert_ok(htone_tensor_data(tensor, &data));
  return data;
}

static void a_clone_has_memory_of_its_own(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kDtypes); ++i) {
    htone_tensor* tensor = make_tensor(kDtypes[i], (const double[]){0, 1, 1, 0, 1, 1}, 2, 2, 3);
    htone_tensor* copy = apply1(htone_tensor_clone, transpose_of(tensor, 0, 1));
    assert_ok(htone_tensor_fill(tensor, 0));
    assert_int_equal(dtype_of(copy), kDtypes[i]);
    assert_shape(copy, 3, 2);
    assert_values(copy, 0, 0, 0, 1, 1, 1, 1);
    assert_int_equal(is_contiguous(copy), 1);
  }
  assert_scalar(apply1(htone_tensor_clone, make_scalar(HTONE_F32, 3)));
  assert_shape(apply1(htone_tensor_clone, make_ramp(HTONE_F32, 2, 0, 3)), 0, 3);
}

static void gradients_flow_through_copies(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 2, 2, 3));
  htone_tensor* weights = make_ramp(HTONE_F32, 2, 3, 2);
  backward(sum_of(apply2(htone_mul, apply1(htone_tensor_clone, transpose_of(x, 0, 1)), weights)));
  assert_values(grad_of(x), 0, 0, 2, 4, 1, 3, 5);
  backward(sum_of(apply2(htone_mul, apply1(htone_tensor_contiguous, transpose_of(x, 0, 1)), weights)));
  assert_values(grad_of(x), 0, 0, 4, 8, 2, 6, 10);
  htone_tensor* half = leaf(make_ramp(HTONE_BF16, 1, 3));
  backward(sum_of(apply1(htone_tensor_clone, to_dtype(half, HTONE_F32))));
  assert_int_equal(dtype_of(grad_of(half)), HTONE_BF16);
  assert_values(grad_of(half), 0, 1, 1, 1);
}

static void only_tensors_with_other_layouts_are_copied_to_be_contiguous(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 2, 2, 3);
  htone_tensor* turned = transpose_of(tensor, 0, 1);
  assert_int_equal(is_contiguous(tensor), 1);
  assert_int_equal(is_contiguous(turned), 0);
  assert_int_equal(is_contiguous(slice_of(tensor, 0, 1, 2, 1)), 1);
  assert_int_equal(is_contiguous(slice_of(turned, 0, 0, 0, 1)), 1);
  assert_int_equal(is_contiguous(make_scalar(HTONE_F32, 1)), 1);
  assert_ptr_equal(data_of(apply1(htone_tensor_contiguous, tensor)), data_of(tensor));
  htone_tensor* copy = apply1(htone_tensor_contiguous, turned);
  assert_int_equal(is_contiguous(copy), 1);
  assert_values(copy, 0, 0, 3, 1, 4, 2, 5);
}

static void a_tensor_that_is_as_wanted_is_not_copied(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* out = NULL;
  assert_ptr_equal(data_of(to_dtype(tensor, HTONE_F32)), data_of(tensor));
  assert_ok(htone_tensor_to(tensor, test_device(), HTONE_F32, &out));
  assert_ptr_equal(data_of(keep_tensor(out)), data_of(tensor));
  assert_ok(htone_tensor_to(tensor, test_device(), HTONE_I8, &out));
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_I8);
  assert_values(out, 0, 0, 1, 2);
  htone_context* other = make_context(1, 0);
  assert_ok(htone_tensor_to(leaf(tensor), make_device(other), HTONE_F64, &out));
  assert_int_equal(dtype_of(keep_tensor(out)), HTONE_F64);
  assert_values(out, 0, 0, 1, 2);
  backward(sum_of(out));
  assert_int_equal(dtype_of(grad_of(tensor)), HTONE_F32);
  assert_values(grad_of(tensor), 0, 1, 1, 1);
}

static void elements_are_written_converted_and_repeated(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kDtypes); ++i) {
    for (size_t j = 0; j < COUNT_OF(kDtypes); ++j) {
      htone_tensor* target = make_ramp(kDtypes[i], 2, 2, 3);
      assert_ok(htone_tensor_copy_from(target, make_tensor(kDtypes[j], (const double[]){1, 0, 1}, 1, 3)));
      assert_values(target, 0, 1, 0, 1, 1, 0, 1);
    }
  }
  htone_tensor* target = make_ramp(HTONE_F32, 2, 2, 3);
  assert_ok(htone_tensor_copy_from(transpose_of(target, 0, 1), make_tensor(HTONE_F64, (const double[]){7, 8}, 1, 2)));
  assert_values(target, 0, 7, 7, 7, 8, 8, 8);
  assert_ok(htone_tensor_copy_from(slice_of(target, 1, 1, 2, 1), make_scalar(HTONE_I32, -1)));
  assert_values(target, 0, 7, -1, 7, 8, -1, 8);
  htone_tensor* nothing = make_ramp(HTONE_F32, 2, 0, 3);
  assert_ok(htone_tensor_copy_from(nothing, make_ramp(HTONE_F32, 1, 3)));
}

/* Shows row A14 of tests/faults.md for writes of one tensor into another. */
static void a14_a_tensor_may_be_written_from_its_own_memory(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 2, 3, 3);
  assert_ok(htone_tensor_copy_from(tensor, transpose_of(tensor, 0, 1)));
  assert_values(tensor, 0, 0, 3, 6, 1, 4, 7, 2, 5, 8);
  htone_tensor* line = make_ramp(HTONE_F32, 1, 6);
  assert_ok(htone_tensor_copy_from(slice_of(line, 0, 1, 6, 1), slice_of(line, 0, 0, 5, 1)));
  assert_values(line, 0, 0, 0, 1, 2, 3, 4);
  assert_ok(htone_tensor_copy_from(line, line));
  assert_values(line, 0, 0, 0, 1, 2, 3, 4);
}

static void writes_that_autograd_would_miss_are_refused(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  htone_tensor* plain = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* square = apply2(htone_mul, x, x);
  assert_fails(htone_tensor_copy_from(square, plain), HTONE_ERROR_STATE, "tensor is the result of mul");
  assert_fails(htone_tensor_copy_from(x, plain), HTONE_ERROR_STATE, "tensor is a leaf that requires a gradient");
  assert_fails(htone_tensor_copy_from(plain, square), HTONE_ERROR_STATE, "source requires a gradient");
  assert_fails(htone_tensor_copy_from(make_ramp(HTONE_F32, 1, 2), plain), HTONE_ERROR_SHAPE_MISMATCH,
               "source [3] does not broadcast to tensor [2]");
  assert_values(plain, 0, 0, 1, 2);
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  assert_ok(htone_tensor_copy_from(plain, square));
  assert_values(plain, 0, 0, 1, 4);
  assert_ok(htone_tensor_copy_from(x, plain));
  assert_ok(htone_scope_end(scope));
  assert_values(x, 0, 0, 1, 4);
  assert_fails(htone_tensor_backward(sum_of(square), NULL, 0), HTONE_ERROR_STATE, "was written after");
}

static void memory_that_is_shared_by_elements_is_not_written(void** state) {
  (void)state;
  htone_tensor* row = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* rows = NULL;
  assert_ok(htone_broadcast_to(row, 2, (const int64_t[]){2, 3}, &rows));
  assert_fails(htone_tensor_copy_from(keep_tensor(rows), row), HTONE_ERROR_STATE, "elements overlap");
  assert_ok(htone_tensor_copy_from(make_ramp(HTONE_F32, 2, 2, 3), rows));
}

static int is_shared(htone_tensor* tensor) {
  int32_t answer = -1;
  assert_ok(htone_tensor_is_shared(tensor, &answer));
  return answer;
}

static void a_tensor_is_shared_if_a_write_to_it_is_seen_elsewhere(void** state) {
  (void)state;
  float buffer[2] = {0};
  htone_tensor *x = make_ramp(HTONE_F32, 2, 2, 3), *row = NULL, *borrowed = NULL;
  assert_int_equal(is_shared(x), 0);
  assert_ok(htone_slice(x, 0, 0, 1, 1, &row));
  assert_int_equal(is_shared(x) + is_shared(row), 2);
  assert_ok(htone_tensor_release(row));
  assert_int_equal(is_shared(x), 0);
  htone_tensor* product = apply2(htone_mul, x, leaf(make_ramp(HTONE_F32, 1, 3)));
  assert_int_equal(is_shared(x), 1); /* backward of the product needs it */
  assert_int_equal(is_shared(product), 0);
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, (const int64_t[]){2}, buffer, NULL, NULL, &borrowed));
  assert_int_equal(is_shared(keep_tensor(borrowed)), 1);
  assert_int_equal(is_shared(make_ramp(HTONE_F32, 2, 0, 3)), 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_clone_has_memory_of_its_own),
      cmocka_unit_test(gradients_flow_through_copies),
      cmocka_unit_test(only_tensors_with_other_layouts_are_copied_to_be_contiguous),
      cmocka_unit_test(a_tensor_that_is_as_wanted_is_not_copied),
      cmocka_unit_test(elements_are_written_converted_and_repeated),
      cmocka_unit_test(a14_a_tensor_may_be_written_from_its_own_memory),
      cmocka_unit_test(writes_that_autograd_would_miss_are_refused),
      cmocka_unit_test(memory_that_is_shared_by_elements_is_not_written),
      cmocka_unit_test(a_tensor_is_shared_if_a_write_to_it_is_seen_elsewhere),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
