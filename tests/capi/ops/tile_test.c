/* Repeated and rotated tensors: memory of their own, refusals. */
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

static void repeats_and_dimensions_are_checked(void** state) {
  (void)state;
  htone_tensor* x = make_ramp(HTONE_F32, 2, 2, 3);
  const int64_t large[] = {INT64_MAX, 2}, many[] = {INT64_C(1) << 31, INT64_C(1) << 31}, twice[] = {0, 0};
  assert_refuses(htone_tile(x, 2, large, &out), INVALID_ARGUMENT, "repeats");
  assert_refuses(htone_tile(x, 2, many, &out), INVALID_ARGUMENT, "repeats");
  assert_refuses(htone_roll(x, 2, twice, twice, &out), INVALID_ARGUMENT, "dims");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_result_never_shares_memory_with_its_input),
      cmocka_unit_test(repeats_and_dimensions_are_checked),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
