/* Arithmetic in place: values, dtypes, layouts, shared memory, and the calls that autograd forbids. */

#include "test_tensors.h"

typedef htone_status (*InPlaceFn)(htone_tensor*, htone_tensor*);

typedef struct Operation {
  const char* name;
  InPlaceFn in_place;
  BinaryFn beside;
} Operation;

static const Operation kOperations[] = {
    {"add", htone_tensor_add_in_place, htone_add},
    {"sub", htone_tensor_sub_in_place, htone_sub},
    {"mul", htone_tensor_mul_in_place, htone_mul},
    {"div", htone_tensor_div_in_place, htone_div},
};

static htone_tensor* clone_of(htone_tensor* tensor) { return apply1(htone_tensor_clone, tensor); }

static void results_are_those_of_the_operation(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  for (size_t i = 0; i < COUNT_OF(kOperations); ++i) {
    for (size_t a = 0; a < COUNT_OF(dtypes); ++a) {
      for (size_t b = 0; b < COUNT_OF(dtypes); ++b) {
        htone_tensor* x = make_noise(dtypes[a], 3, 2, 30, 50);
        htone_tensor* y = make_noise(dtypes[b], 4, 1, 50);
        htone_tensor* expected = cast_of(apply2(kOperations[i].beside, x, y), dtypes[a]);
        assert_ok(kOperations[i].in_place(x, y));
        assert_int_equal(dtype_of(x), dtypes[a]);
        assert_tensors_near(x, expected, 0);
      }
    }
  }
}

static void views_write_into_their_whole(void** state) {
  (void)state;
  htone_tensor* x = make_ramp(HTONE_F32, 2, 2, 3);
  assert_ok(htone_tensor_add_in_place(transpose_of(x, 0, 1), make_tensor(HTONE_F32, (const double[]){10, 20}, 1, 2)));
  assert_values(x, 0, 10, 11, 12, 23, 24, 25);
  assert_ok(htone_tensor_mul_in_place(slice_of(x, 1, 0, 1, 1), make_scalar(HTONE_F32, 2)));
  assert_values(x, 0, 20, 11, 12, 46, 24, 25);
  htone_tensor* nothing = make_ramp(HTONE_F32, 2, 0, 3);
  assert_ok(htone_tensor_div_in_place(nothing, make_scalar(HTONE_F32, 2)));
}

static void a_tensor_may_be_combined_with_its_own_memory(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kOperations); ++i) {
    htone_tensor* x = make_noise(HTONE_F32, 5, 2, 40, 40);
    htone_tensor* turned = transpose_of(x, 0, 1);
    htone_tensor* expected = clone_of(apply2(kOperations[i].beside, x, turned));
    assert_ok(kOperations[i].in_place(x, turned));
    assert_tensors_near(x, expected, 0);
    expected = clone_of(apply2(kOperations[i].beside, x, x));
    assert_ok(kOperations[i].in_place(x, x));
    assert_tensors_near(x, expected, 0);
  }
  htone_tensor* line = make_ramp(HTONE_F32, 1, 5);
  assert_ok(htone_tensor_add_in_place(slice_of(line, 0, 1, 5, 1), slice_of(line, 0, 0, 4, 1)));
  assert_values(line, 0, 0, 1, 3, 5, 7);
}

/* Two tensors over one buffer of the caller have storages of their own. */
static void a_buffer_may_be_shared_by_two_tensors(void** state) {
  (void)state;
  static float buffer[5] = {0, 1, 2, 3, 4};
  const int64_t shape[] = {4};
  htone_tensor *first = NULL, *second = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, shape, buffer, NULL, NULL, &first));
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, shape, buffer + 1, NULL, NULL, &second));
  assert_ok(htone_tensor_add_in_place(keep_tensor(second), keep_tensor(first)));
  assert_values(second, 0, 1, 3, 5, 7);
}

static void results_that_the_tensor_cannot_hold_are_refused(void** state) {
  (void)state;
  htone_tensor* integers = make_ramp(HTONE_I32, 1, 2);
  htone_tensor* floats = make_ramp(HTONE_F32, 1, 2);
  htone_tensor* bools = make_ramp(HTONE_BOOL, 1, 2);
  assert_fails(htone_tensor_add_in_place(integers, floats), HTONE_ERROR_DTYPE_MISMATCH,
               "tensor is i32, which cannot hold the result of add: f32");
  assert_fails(htone_tensor_div_in_place(integers, integers), HTONE_ERROR_DTYPE_MISMATCH, "result of div: f32");
  assert_fails(htone_tensor_add_in_place(bools, integers), HTONE_ERROR_DTYPE_MISMATCH, "tensor is bool");
  assert_fails(htone_tensor_sub_in_place(bools, bools), HTONE_ERROR_DTYPE_MISMATCH, "subtraction has no meaning");
  assert_fails(htone_tensor_add_in_place(make_ramp(HTONE_F8E4M3, 1, 2), floats), HTONE_ERROR_DTYPE_MISMATCH, "storage");
  assert_fails(htone_tensor_add_in_place(floats, make_ramp(HTONE_F32, 1, 3)), HTONE_ERROR_SHAPE_MISMATCH,
               "other [3] does not broadcast to tensor [2]");
  assert_fails(htone_tensor_add_in_place(floats, make_ramp(HTONE_F32, 2, 1, 2)), HTONE_ERROR_SHAPE_MISMATCH,
               "other [1, 2]");
  assert_values(floats, 0, 0, 1);
}

static void writes_that_autograd_would_miss_are_refused(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kOperations); ++i) {
    const InPlaceFn apply = kOperations[i].in_place;
    htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
    htone_tensor* plain = make_tensor(HTONE_F32, (const double[]){4, 8}, 1, 2);
    assert_fails(apply(apply2(htone_mul, x, x), plain), HTONE_ERROR_STATE, "tensor is the result of mul");
    assert_fails(apply(x, plain), HTONE_ERROR_STATE, "tensor is a leaf that requires a gradient");
    assert_fails(apply(plain, x), HTONE_ERROR_STATE, "other requires a gradient");
    assert_values(plain, 0, 4, 8);
    htone_scope* scope = NULL;
    assert_ok(htone_no_grad_begin(&scope));
    htone_tensor* expected = apply2(kOperations[i].beside, x, plain);
    assert_ok(apply(x, plain));
    assert_tensors_near(x, expected, 0);
    assert_ok(apply(plain, x));
    assert_ok(htone_scope_end(scope));
  }
}

static void a_write_between_forward_and_backward_is_noticed(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* factor = make_ramp(HTONE_F32, 1, 2);
  htone_tensor* loss = sum_of(apply2(htone_mul, x, factor));
  assert_ok(htone_tensor_add_in_place(slice_of(factor, 0, 0, 1, 1), make_scalar(HTONE_F32, 1)));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "was written after");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_those_of_the_operation),
      cmocka_unit_test(views_write_into_their_whole),
      cmocka_unit_test(a_tensor_may_be_combined_with_its_own_memory),
      cmocka_unit_test(a_buffer_may_be_shared_by_two_tensors),
      cmocka_unit_test(results_that_the_tensor_cannot_hold_are_refused),
      cmocka_unit_test(writes_that_autograd_would_miss_are_refused),
      cmocka_unit_test(a_write_between_forward_and_backward_is_noticed),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
