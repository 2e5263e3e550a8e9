/* Element types: sizes, names, and promotion compared with torch.promote_types. */
#include <string.h>

#include "run_tests.h"

static const htone_dtype kFirst = HTONE_F64, kLast = HTONE_BOOL;

static void every_dtype_has_its_size_and_name(void** state) {
  (void)state;
  static const size_t sizes[] = {8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 1, 1};
  static const char* const names[] = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
                                      "i64", "i32", "i16", "i8",   "u8",     "bool"};
  for (htone_dtype dtype = kFirst; dtype <= kLast; ++dtype) {
    size_t bytes = 0;
    assert_ok(htone_dtype_size(dtype, &bytes));
    assert_int_equal(bytes, sizes[dtype - kFirst]);
    assert_string_equal(htone_dtype_name(dtype), names[dtype - kFirst]);
  }
}

/* A11 */
static void a_value_that_is_no_dtype_is_refused(void** state) {
  (void)state;
  static const htone_dtype wrong[] = {0, -1, 13, 200, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    size_t bytes = 77;
    htone_dtype out = 77;
    assert_string_equal(htone_dtype_name(wrong[i]), "invalid");
    assert_fails(htone_dtype_size(wrong[i], &bytes), HTONE_ERROR_INVALID_ARGUMENT, "dtype");
    assert_fails(htone_dtype_promote(wrong[i], HTONE_F32, &out), HTONE_ERROR_INVALID_ARGUMENT, "a");
    assert_fails(htone_dtype_promote(HTONE_F32, wrong[i], &out), HTONE_ERROR_INVALID_ARGUMENT, "b");
    assert_int_equal(bytes, 77);
    assert_int_equal(out, 77);
  }
}

static void statuses_have_names(void** state) {
  (void)state;
  assert_string_equal(htone_status_name(HTONE_OK), "OK");
  assert_string_equal(htone_status_name(HTONE_ERROR_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  assert_string_equal(htone_status_name(HTONE_ERROR_BUFFER_TOO_SMALL), "BUFFER_TOO_SMALL");
  assert_string_equal(htone_status_name(HTONE_ERROR_INTERNAL), "INTERNAL");
  assert_string_equal(htone_status_name(HTONE_ERROR_NOT_FINITE), "NOT_FINITE");
  assert_string_equal(htone_status_name((htone_status)19), "UNKNOWN");
  assert_string_equal(htone_status_name((htone_status)-1), "UNKNOWN");
}

static void the_library_tells_the_version_of_its_headers(void** state) {
  (void)state;
  char text[256];
  size_t length = 0;
  assert_int_equal(htone_version(), HTONE_VERSION_NUMBER);
  assert_string_equal(htone_version_string(), HTONE_VERSION_TEXT);
  assert_ok(htone_build_info(text, sizeof text, &length));
  assert_int_equal(strlen(text), length);
  char small[4] = {'x', 'x', 'x', '#'};
  size_t needed = 0;
  assert_fails(htone_build_info(small, 3, &needed), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity");
  assert_int_equal(needed, length);
  assert_int_equal(small[3], '#');
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_dtype_has_its_size_and_name),
      cmocka_unit_test(a_value_that_is_no_dtype_is_refused),
      cmocka_unit_test(statuses_have_names),
      cmocka_unit_test(the_library_tells_the_version_of_its_headers),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
