/* Equally spaced numbers: values in every dtype, the end of the range, refusals. */
#include <math.h>

#include "test_tensors.h"

static htone_tensor* arange(htone_dtype dtype, double start, double end, double step) {
  htone_tensor* out = NULL;
  assert_ok(htone_arange(test_device(), dtype, start, end, step, &out));
  return keep_tensor(out);
}

static void numbers_run_from_start_up_to_end(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64,    HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3,
                                       HTONE_F8E5M2, HTONE_I64, HTONE_I32, HTONE_I16,  HTONE_I8};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_tensor* numbers = arange(dtypes[i], 1, 6, 2);
    assert_int_equal(dtype_of(numbers), dtypes[i]);
    assert_shape(numbers, 3);
    assert_values(numbers, 0, 1, 3, 5);
    assert_values(arange(dtypes[i], 2, -4, -3), 0, 2, -1);
    assert_shape(arange(dtypes[i], 2, 2, -3), 0);
  }
  assert_values(arange(HTONE_U8, 254, 300, 100), 0, 254);
  assert_values(arange(HTONE_U8, 2, -1, -1), 0, 2, 1, 0);
}

static void fractions_come_from_their_index_alone(void** state) {
  (void)state;
  htone_tensor* tenths = arange(HTONE_F64, 0, 1, 0.1);
  assert_shape(tenths, 10);
  assert_values(tenths, 0, 0, 0.1, 0.2, 3 * 0.1, 0.4, 0.5, 6 * 0.1, 7 * 0.1, 0.8, 0.9);
  htone_tensor* many = arange(HTONE_F32, 0, 100000, 0.1);
  assert_shape(many, 1000000);
  assert_near(item_of(slice_of(many, 0, 999999, 1000000, 1)), (double)(float)(999999 * 0.1), 0);
}

static void large_whole_numbers_are_exact(void** state) {
  (void)state;
  const double large = 4503599627370496; /* 2^52 */
  int64_t elements[3] = {0};
  htone_tensor* numbers = arange(HTONE_I64, large - 5, large, 2);
  assert_ok(htone_tensor_read(numbers, HTONE_I64, elements, sizeof elements));
  for (int i = 0; i < 3; ++i) assert_true(elements[i] == INT64_C(4503599627370491) + 2 * i);
}

static void numbers_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  htone_device* device = test_device();
  assert_fails(htone_arange(device, HTONE_F32, 0, 1, 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "step is 0");
  assert_fails(htone_arange(device, HTONE_F32, 0, 1, -1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "step=-1 leads from start=0");
  assert_fails(htone_arange(device, HTONE_F32, NAN, 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "start=nan is not finite");
  assert_fails(htone_arange(device, HTONE_F64, -1e308, 1e308, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "more than memory");
  assert_fails(htone_arange(device, HTONE_F64, 0, 1e30, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "end=1e+30");
  assert_fails(htone_arange(device, HTONE_I32, 0.5, 3, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "start=0.5, expected a whole");
  assert_fails(htone_arange(device, HTONE_I64, 0, 1e17, 1e16, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "end=1e+17, expected");
  assert_fails(htone_arange(device, HTONE_U8, -1, 3, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "start=-1 makes -1 an element");
  assert_fails(htone_arange(device, HTONE_I8, 0, 130, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "end=130 makes 129 an element");
  assert_fails(htone_arange(device, HTONE_BOOL, 0, 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "dtype=bool");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_run_from_start_up_to_end),
      cmocka_unit_test(fractions_come_from_their_index_alone),
      cmocka_unit_test(large_whole_numbers_are_exact),
      cmocka_unit_test(numbers_that_cannot_be_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
