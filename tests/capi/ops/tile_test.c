/* Repeated and rotated tensors: values in every dtype, gradients, refusals. */
#include "test_tensors.h"

static htone_tensor* tile(htone_tensor* input, int32_t count, const int64_t* repeats) {
  htone_tensor* out = NULL;
  assert_ok(htone_tile(input, count, repeats, &out));
  return keep_tensor(out);
}

static htone_tensor* roll(htone_tensor* input, int32_t count, const int64_t* dims, const int64_t* shifts) {
  htone_tensor* out = NULL;
  assert_ok(htone_roll(input, count, dims, shifts, &out));
  return keep_tensor(out);
}

static void a_tensor_is_repeated_along_its_dimensions(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3, HTONE_F8E5M2,
                                       HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8,   HTONE_U8};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* x = make_ramp(dtypes[i], 2, 2, 2);
    htone_tensor* result = tile(x, 2, (const int64_t[]){2, 1});
    assert_int_equal(dtype_of(result), dtypes[i]);
    assert_shape(result, 4, 2);
    assert_values(result, 0, 0, 1, 2, 3, 0, 1, 2, 3);
    assert_values(tile(x, 1, (const int64_t[]){2}), 0, 0, 1, 0, 1, 2, 3, 2, 3);
    assert_values(tile(transpose_of(x, 0, 1), 2, (const int64_t[]){1, 2}), 0, 0, 2, 0, 2, 1, 3, 1, 3);
  }
  assert_shape(tile(make_ramp(HTONE_F32, 1, 3), 3, (const int64_t[]){2, 1, 2}), 2, 1, 6);
  assert_shape(tile(make_ramp(HTONE_F32, 2, 2, 3), 2, (const int64_t[]){0, 2}), 0, 6);
  assert_values(tile(make_scalar(HTONE_F32, 5), 1, (const int64_t[]){3}), 0, 5, 5, 5);
  assert_shape(tile(make_ramp(HTONE_F32, 8, 1, 2, 1, 2, 1, 2, 1, 2), 8, (const int64_t[]){2, 2, 2, 2, 2, 2, 2, 2}), 2,
               4, 2, 4, 2, 4, 2, 4);
}

static void a_result_never_shares_memory_with_its_input(void** state) {
  (void)state;
  htone_tensor* x = make_ramp(HTONE_F32, 2, 2, 2);
  htone_tensor* once = tile(x, 2, (const int64_t[]){1, 1});
  htone_tensor* none = tile(x, 0, NULL);
  htone_tensor* still = roll(x, 1, (const int64_t[]){0}, (const int64_t[]){4});
  htone_tensor* nowhere = roll(x, 0, NULL, NULL);
  assert_ok(htone_tensor_fill(x, 9));
  assert_values(once, 0, 0, 1, 2, 3);
  assert_values(none, 0, 0, 1, 2, 3);
  assert_values(still, 0, 0, 1, 2, 3);
  assert_values(nowhere, 0, 0, 1, 2, 3);
}

static void elements_leave_at_one_end_and_come_in_at_the_other(void** state) {
  (void)state;
  htone_tensor* x = make_ramp(HTONE_BF16, 2, 2, 3);
  const int64_t both[] = {0, -1}, last[] = {1};
  assert_values(roll(x, 1, last, (const int64_t[]){1}), 0, 2, 0, 1, 5, 3, 4);
  assert_values(roll(x, 1, last, (const int64_t[]){-4}), 0, 1, 2, 0, 4, 5, 3);
  assert_values(roll(x, 2, both, (const int64_t[]){1, INT64_MAX}), 0, 5, 3, 4, 2, 0, 1);
  assert_values(roll(x, 2, both, (const int64_t[]){INT64_MIN, 3}), 0, 0, 1, 2, 3, 4, 5);
  assert_values(roll(transpose_of(x, 0, 1), 1, last, (const int64_t[]){1}), 0, 3, 0, 4, 1, 5, 2);
  assert_shape(roll(make_ramp(HTONE_F32, 2, 0, 3), 2, both, (const int64_t[]){1, 1}), 0, 3);
  assert_values(roll(make_scalar(HTONE_F32, 2), 1, (const int64_t[]){0}, (const int64_t[]){1}), 0, 2);
}

static void gradients_are_added_up_and_moved_back(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* tiled = tile(x, 2, (const int64_t[]){2, 2});
  backward(sum_of(apply2(htone_mul, tiled, make_ramp(HTONE_F32, 2, 2, 4))));
  assert_values(grad_of(x), 0, 0 + 2 + 4 + 6, 1 + 3 + 5 + 7);
  htone_tensor* many = leaf(make_ramp(HTONE_BF16, 1, 1));
  backward(sum_of(tile(many, 1, (const int64_t[]){1024})));
  assert_int_equal(dtype_of(grad_of(many)), HTONE_BF16);
  assert_values(grad_of(many), 0, 1024);
  htone_tensor* row = leaf(make_ramp(HTONE_F32, 1, 3));
  htone_tensor* rolled = roll(row, 1, (const int64_t[]){0}, (const int64_t[]){1});
  backward(sum_of(apply2(htone_mul, rolled, make_ramp(HTONE_F32, 1, 3))));
  assert_values(grad_of(row), 0, 1, 2, 0);
}

static void repeats_and_dimensions_are_checked(void** state) {
  (void)state;
  htone_tensor *x = make_ramp(HTONE_F32, 2, 2, 3), *out = NULL;
  const int64_t one[] = {1, 1}, large[] = {INT64_MAX, 2}, many[] = {INT64_C(1) << 31, INT64_C(1) << 31};
  const int64_t outside[] = {2}, twice[] = {0, 0};
  assert_fails(htone_tile(x, 2, (const int64_t[]){1, -1}, &out), HTONE_ERROR_INVALID_ARGUMENT, "repeats[1]=-1");
  assert_fails(htone_tile(x, 2, large, &out), HTONE_ERROR_INVALID_ARGUMENT, "repeats");
  assert_fails(htone_tile(x, 2, many, &out), HTONE_ERROR_INVALID_ARGUMENT, "repeats");
  assert_fails(htone_tile(x, 9, many, &out), HTONE_ERROR_INVALID_ARGUMENT, "repeat_count=9");
  assert_fails(htone_tile(x, 1, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "repeats is NULL");
  assert_fails(htone_roll(x, 1, outside, one, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_roll(x, 2, twice, one, &out), HTONE_ERROR_INVALID_ARGUMENT, "dims");
  assert_fails(htone_roll(x, 1, one, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "shifts is NULL");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tensor_is_repeated_along_its_dimensions),
      cmocka_unit_test(a_result_never_shares_memory_with_its_input),
      cmocka_unit_test(elements_leave_at_one_end_and_come_in_at_the_other),
      cmocka_unit_test(gradients_are_added_up_and_moved_back),
      cmocka_unit_test(repeats_and_dimensions_are_checked),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
