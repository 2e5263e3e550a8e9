/* Batches of windows over tokens. */
#include "test_data.h"

static int64_t window_count(int64_t tokens, int64_t length, int64_t stride) {
  int64_t count = -1;
  assert_ok(htone_window_count(tokens, length, stride, &count));
  return count;
}

static void windows_need_a_target_for_every_token(void** state) {
  (void)state;
  assert_int_equal(window_count(10, 4, 4), 2); /* tokens 0-3 and 4-7; 8-11 are not there */
  assert_int_equal(window_count(9, 4, 4), 2);
  assert_int_equal(window_count(8, 4, 4), 1);
  assert_int_equal(window_count(10, 4, 1), 6);
  assert_int_equal(window_count(5, 4, 100), 1);
  assert_int_equal(window_count(4, 4, 1), 0);
  assert_int_equal(window_count(0, 1, 1), 0);
  assert_int_equal(window_count(INT64_MAX, 1, 1), INT64_MAX - 1);
  assert_int_equal(window_count(INT64_MAX, INT64_MAX, INT64_MAX), 0);
}

static void a_window_and_its_target_are_one_token_apart(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8, HTONE_U8};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_batches* batches = NULL;
    htone_tensor* tokens = make_ramp(dtypes[i], 1, 10);
    assert_ok(htone_batches_create_windows(make_ordered_sampler(3, 2), tokens, 3, 3, &batches));
    keep_batches(batches);
    assert_ok(htone_batches_next(batches));
    assert_shape(batch_of(batches, 0), 2, 3);
    assert_values(batch_of(batches, 0), 0, 0, 1, 2, 3, 4, 5);
    assert_values(batch_of(batches, 1), 0, 1, 2, 3, 4, 5, 6);
    assert_int_equal(dtype_of(batch_of(batches, 0)), HTONE_I64);
    assert_int_equal(dtype_of(batch_of(batches, 1)), HTONE_I64);
    assert_ok(htone_batches_next(batches));
    assert_values(batch_of(batches, 0), 0, 6, 7, 8);
    assert_values(batch_of(batches, 1), 0, 7, 8, 9);
  }
}

static void windows_may_overlap_and_their_tokens_may_be_strided(void** state) {
  (void)state;
  htone_tensor* tokens = slice_of(make_ramp(HTONE_I32, 1, 12), 0, 0, 12, 2); /* 0, 2, 4, 6, 8, 10 */
  htone_batches* batches = NULL;
  assert_ok(htone_batches_create_windows(make_ordered_sampler(4, 4), tokens, 2, 1, &batches));
  keep_batches(batches);
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 0, 2, 2, 4, 4, 6, 6, 8);
  assert_values(batch_of(batches, 1), 0, 2, 4, 4, 6, 6, 8, 8, 10);
}

static void windows_that_do_not_fit_the_sampler_are_refused(void** state) {
  (void)state;
  htone_batches* out = NULL;
  htone_sampler* sampler = make_ordered_sampler(3, 2);
  assert_fails(htone_batches_create_windows(sampler, make_ramp(HTONE_I64, 1, 9), 3, 3, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "2 windows, expected the sampler's count=3");
  assert_fails(htone_batches_create_windows(sampler, make_ramp(HTONE_I64, 2, 5, 2), 3, 3, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "tokens [5, 2]");
  assert_fails(htone_batches_create_windows(sampler, make_ramp(HTONE_F32, 1, 10), 3, 3, &out),
               HTONE_ERROR_DTYPE_MISMATCH, "tokens is f32");
  assert_fails(htone_batches_create_windows(sampler, make_ramp(HTONE_BOOL, 1, 10), 3, 3, &out),
               HTONE_ERROR_DTYPE_MISMATCH, "tokens is bool");
  assert_null(out);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_need_a_target_for_every_token),
      cmocka_unit_test(a_window_and_its_target_are_one_token_apart),
      cmocka_unit_test(windows_may_overlap_and_their_tokens_may_be_strided),
      cmocka_unit_test(windows_that_do_not_fit_the_sampler_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
