/* Repeated and rotated tensors: one value and gradient each, memory of their own, refusals. */
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
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* result = tile(x, 2, (const int64_t[]){2, 2});
  assert_shape(result, 2, 4);
  assert_values(result, 0, 0, 1, 0, 1, 0, 1, 0, 1);
  backward(sum_of(apply2(htone_mul, result, make_ramp(HTONE_F32, 2, 2, 4))));
  assert_values(grad_of(x), 0, 0 + 2 + 4 + 6, 1 + 3 + 5 + 7);
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
  htone_tensor* x = leaf(make_ramp(HTONE_BF16, 2, 2, 3));
  const int64_t both[] = {0, -1};
  htone_tensor* result = roll(x, 2, both, (const int64_t[]){1, INT64_MAX});
  assert_values(result, 0, 5, 3, 4, 2, 0, 1);
  assert_values(roll(x, 2, both, (const int64_t[]){INT64_MIN, 3}), 0, 0, 1, 2, 3, 4, 5);
  backward(sum_of(apply2(htone_mul, result, make_ramp(HTONE_BF16, 2, 2, 3))));
  assert_values(grad_of(x), 0, 4, 5, 3, 1, 2, 0);
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
      cmocka_unit_test(repeats_and_dimensions_are_checked),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
