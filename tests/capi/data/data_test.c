/* Samplers and batches: settings, positions, rows, refusals. tests/data/sampler_test.cpp has orders, ranks and
 * failures. */
#include <string.h>

#include "sanitizers.h"
#include "test_data.h"

enum { kMost = 500 };

static htone_batches* make_batches(htone_sampler* sampler, size_t count, htone_tensor* const* tensors) {
  htone_batches* batches = NULL;
  assert_ok(htone_batches_create(sampler, count, tensors, &batches));
  return keep_batches(batches);
}

static void the_defaults_are_as_documented(void** state) {
  (void)state;
  htone_sampler_options options;
  memset(&options, 0x5a, sizeof options);
  assert_ok(htone_sampler_options_init(&options));
  assert_int_equal(options.struct_size, sizeof options);
  assert_true(options.shuffle == 1 && options.seed == 0 && options.drop_last == 0);
  assert_true(options.count == 0 && options.batch_size == 0 && options.rank == 0 && options.world_size == 1);
}

static void equal_seeds_give_equal_orders(void** state) {
  (void)state;
  int64_t first[kMost], second[kMost], other[kMost];
  htone_sampler_options options = sampler_options(500, 10);
  options.seed = 7;
  take_epoch(make_sampler(options), first, kMost);
  options.batch_size = 25; /* the order does not depend on it */
  take_epoch(make_sampler(options), second, kMost);
  options.seed = 8;
  take_epoch(make_sampler(options), other, kMost);
  assert_memory_equal(first, second, 500 * sizeof *first);
  assert_memory_not_equal(first, other, 500 * sizeof *first);
}

static void a_last_batch_that_is_not_full_is_dropped_or_short(void** state) {
  (void)state;
  int64_t indices[10];
  htone_sampler_options options = sampler_options(10, 4);
  assert_int_equal(take_epoch(make_sampler(options), indices, 10), 10);
  options.drop_last = 1;
  assert_int_equal(take_epoch(make_sampler(options), indices, 10), 8);
}

static void the_next_epoch_follows_by_itself(void** state) {
  (void)state;
  int64_t indices[4];
  size_t count = 0;
  htone_sampler* sampler = make_sampler(sampler_options(8, 4));
  assert_position(sampler, 0, 0);
  assert_ok(htone_sampler_next(sampler, indices, 4, &count));
  assert_position(sampler, 0, 1);
  assert_ok(htone_sampler_next(sampler, indices, 4, &count));
  assert_ok(htone_sampler_next(sampler, indices, 4, &count));
  assert_position(sampler, 1, 1);
}

static void a_buffer_too_small_takes_nothing(void** state) {
  (void)state;
  int64_t indices[4] = {-1, -1, -1, -1}, expected[4];
  size_t count = 0;
  htone_sampler* sampler = make_sampler(sampler_options(10, 4));
  assert_fails(htone_sampler_next(sampler, indices, 3, &count), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity");
  assert_int_equal(count, 4);
  assert_true(indices[0] == -1 && indices[3] == -1);
  assert_position(sampler, 0, 0);
  assert_ok(htone_sampler_next(sampler, indices, 4, &count));
  assert_ok(htone_sampler_next(make_sampler(sampler_options(10, 4)), expected, 4, &count));
  assert_memory_equal(indices, expected, sizeof expected);
}

static void a_sampler_over_more_samples_than_memory_has_numbers_is_refused(void** state) {
  (void)state;
  htone_sampler_options options = sampler_options(INT64_MAX, 4);
  htone_sampler* out = NULL;
  assert_fails(htone_sampler_create(&options, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=9223372036854775807, expected at most 1152921504606846975");
  options.count = INT64_C(1152921504606846976);
  assert_fails(htone_sampler_create(&options, &out), HTONE_ERROR_INVALID_ARGUMENT, "options.count");
  assert_null(out);
  options.count -= 1;
  int64_t index = -1;
  size_t count = 0;
  assert_ok(htone_sampler_create(&options, &out));
  /* Sanitizers end the process where so much memory is asked for. */
  if (!HALFTONE_ANY_SANITIZER) {
    assert_fails(htone_sampler_next(out, &index, 4, &count), HTONE_ERROR_OUT_OF_MEMORY, "");
  }
  assert_ok(htone_sampler_release(out));
}

static void a_batch_stays_as_it_is_when_the_next_is_taken(void** state) {
  (void)state;
  htone_tensor* source = make_ramp(HTONE_F32, 2, 6, 1);
  htone_sampler_options options = sampler_options(6, 3);
  options.shuffle = 0;
  htone_batches* batches = make_batches(make_sampler(options), 1, &source);
  assert_ok(htone_batches_next(batches));
  htone_tensor* first = batch_of(batches, 0);
  assert_ok(htone_batches_next(batches));
  assert_values(first, 0, 0, 1, 2);
  assert_values(batch_of(batches, 0), 0, 3, 4, 5);
}

static void batches_move_the_sampler_they_share(void** state) {
  (void)state;
  htone_tensor* source = make_ramp(HTONE_I64, 1, 6);
  htone_sampler_options options = sampler_options(6, 2);
  options.shuffle = 0;
  htone_sampler* sampler = make_sampler(options);
  htone_batches* batches = make_batches(sampler, 1, &source);
  int64_t indices[2];
  size_t count = 0;
  assert_ok(htone_sampler_next(sampler, indices, 2, &count));
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 2, 3);
  assert_position(sampler, 0, 2);
}

static void strided_sources_are_gathered_right(void** state) {
  (void)state;
  htone_tensor* source = transpose_of(make_ramp(HTONE_F32, 2, 2, 4), 0, 1);
  htone_sampler_options options = sampler_options(4, 4);
  options.shuffle = 0;
  htone_batches* batches = make_batches(make_sampler(options), 1, &source);
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 0, 4, 1, 5, 2, 6, 3, 7);
}

static void batches_in_the_wrong_order_or_shape_are_refused(void** state) {
  (void)state;
  htone_tensor *source = make_ramp(HTONE_F32, 1, 6), *shorter = make_ramp(HTONE_F32, 1, 5);
  htone_tensor* scalar = make_scalar(HTONE_F32, 1);
  htone_sampler* sampler = make_sampler(sampler_options(6, 2));
  htone_batches *none = NULL, *batches = make_batches(sampler, 1, &source);
  assert_refuses(htone_batches_tensor(batches, 0, &out), STATE, "");
  assert_ok(htone_batches_next(batches));
  assert_refuses(htone_batches_tensor(batches, 1, &out), INVALID_ARGUMENT, "index");
  assert_refuses(htone_batches_tensor(batches, SIZE_MAX, &out), INVALID_ARGUMENT, "index");
  assert_fails(htone_batches_create(sampler, 1, &shorter, &none), HTONE_ERROR_SHAPE_MISMATCH, "tensors");
  assert_fails(htone_batches_create(sampler, 1, &scalar, &none), HTONE_ERROR_SHAPE_MISMATCH, "tensors");
  htone_tensor *foreign = NULL, *pair[2] = {source, NULL};
  const int64_t shape = 6;
  assert_ok(htone_tensor_create_full(make_device(make_context(1, 0)), HTONE_F32, 1, &shape, 0, &foreign));
  pair[1] = keep_tensor(foreign);
  assert_fails(htone_batches_create(sampler, 2, pair, &none), HTONE_ERROR_DEVICE, "tensors");
  assert_null(none);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_defaults_are_as_documented),
      cmocka_unit_test(equal_seeds_give_equal_orders),
      cmocka_unit_test(a_last_batch_that_is_not_full_is_dropped_or_short),
      cmocka_unit_test(the_next_epoch_follows_by_itself),
      cmocka_unit_test(a_buffer_too_small_takes_nothing),
      cmocka_unit_test(a_sampler_over_more_samples_than_memory_has_numbers_is_refused),
      cmocka_unit_test(a_batch_stays_as_it_is_when_the_next_is_taken),
      cmocka_unit_test(batches_move_the_sampler_they_share),
      cmocka_unit_test(strided_sources_are_gathered_right),
      cmocka_unit_test(batches_in_the_wrong_order_or_shape_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
