/* Samplers and batches: orders, ranks, epochs, rows. */
#include <string.h>

#include "test_tensors.h"

static htone_sampler_options sampler_options(int64_t count, int64_t batch_size) {
  htone_sampler_options options;
  assert_ok(htone_sampler_options_init(&options));
  options.count = count;
  options.batch_size = batch_size;
  return options;
}

static htone_sampler* make_sampler(htone_sampler_options options) {
  htone_sampler* sampler = NULL;
  assert_ok(htone_sampler_create(&options, &sampler));
  return keep_sampler(sampler);
}

static int64_t batches_per_epoch(htone_sampler* sampler) {
  int64_t count = -1;
  assert_ok(htone_sampler_batches_per_epoch(sampler, &count));
  return count;
}

static void assert_position(htone_sampler* sampler, int64_t epoch, int64_t batch) {
  int64_t actual_epoch = -1, actual_batch = -1;
  assert_ok(htone_sampler_position(sampler, &actual_epoch, &actual_batch));
  assert_int_equal(actual_epoch, epoch);
  assert_int_equal(actual_batch, batch);
}

enum { kMost = 4096 };

/* Takes one epoch and returns the number of indices. */
static size_t take_epoch(htone_sampler* sampler, int64_t* indices) {
  size_t taken = 0;
  for (int64_t batch = batches_per_epoch(sampler); batch > 0; --batch) {
    size_t count = 0;
    assert_ok(htone_sampler_next(sampler, indices + taken, kMost - taken, &count));
    taken += count;
  }
  return taken;
}

/* Asserts that each sample occurs `times` times. */
static void assert_each_occurs(const int64_t* indices, size_t taken, int64_t count, int times) {
  int seen[kMost] = {0};
  for (size_t i = 0; i < taken; ++i) {
    assert_true(indices[i] >= 0 && indices[i] < count);
    ++seen[indices[i]];
  }
  for (int64_t i = 0; i < count; ++i) assert_int_equal(seen[i], times);
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

/* A count that no batch size divides, as of a validation set. */
static void by_default_an_epoch_takes_every_sample(void** state) {
  (void)state;
  int64_t indices[kMost];
  htone_sampler* sampler = make_sampler(sampler_options(1000, 64));
  assert_int_equal(batches_per_epoch(sampler), 16);
  assert_int_equal(take_epoch(sampler, indices), 1000);
  assert_each_occurs(indices, 1000, 1000, 1);
}

static void an_epoch_is_a_permutation(void** state) {
  (void)state;
  static const int64_t counts[] = {1, 2, 3, 63, 64, 65, 1000, 3001};
  for (size_t i = 0; i < COUNT_OF(counts); ++i) {
    int64_t first[kMost], second[kMost];
    htone_sampler_options options = sampler_options(counts[i], 7);
    options.drop_last = 0;
    htone_sampler* sampler = make_sampler(options);
    assert_int_equal(batches_per_epoch(sampler), (counts[i] + 6) / 7);
    assert_int_equal(take_epoch(sampler, first), counts[i]);
    assert_each_occurs(first, (size_t)counts[i], counts[i], 1);
    assert_int_equal(take_epoch(sampler, second), counts[i]);
    assert_each_occurs(second, (size_t)counts[i], counts[i], 1);
    if (counts[i] >= 63) assert_memory_not_equal(first, second, (size_t)counts[i] * sizeof *first);
  }
}

static void equal_seeds_give_equal_orders(void** state) {
  (void)state;
  int64_t first[kMost], second[kMost], other[kMost];
  htone_sampler_options options = sampler_options(500, 10);
  options.seed = 7;
  take_epoch(make_sampler(options), first);
  options.batch_size = 25; /* the order does not depend on it */
  take_epoch(make_sampler(options), second);
  options.seed = 8;
  take_epoch(make_sampler(options), other);
  assert_memory_equal(first, second, 500 * sizeof *first);
  assert_memory_not_equal(first, other, 500 * sizeof *first);
}

static void without_shuffle_samples_come_in_order(void** state) {
  (void)state;
  int64_t indices[kMost];
  htone_sampler_options options = sampler_options(10, 4);
  options.shuffle = 0;
  options.drop_last = 0;
  assert_int_equal(take_epoch(make_sampler(options), indices), 10);
  for (int64_t i = 0; i < 10; ++i) assert_int_equal(indices[i], i);
}

static void ranks_share_the_samples_out(void** state) {
  (void)state;
  int64_t indices[kMost];
  size_t taken = 0;
  for (int32_t rank = 0; rank < 3; ++rank) {
    htone_sampler_options options = sampler_options(100, 8);
    options.drop_last = 0;
    options.seed = 3;
    options.rank = rank;
    options.world_size = 3;
    const size_t mine = take_epoch(make_sampler(options), indices + taken);
    assert_true(mine == 33 || mine == 34);
    taken += mine;
  }
  assert_int_equal(taken, 100);
  assert_each_occurs(indices, taken, 100, 1);
}

static void a_last_batch_that_is_not_full_is_dropped_or_short(void** state) {
  (void)state;
  int64_t indices[8];
  size_t count = 0;
  htone_sampler_options options = sampler_options(10, 4);
  options.drop_last = 1;
  htone_sampler* dropping = make_sampler(options);
  assert_int_equal(batches_per_epoch(dropping), 2);
  options.drop_last = 0;
  htone_sampler* keeping = make_sampler(options);
  assert_int_equal(batches_per_epoch(keeping), 3);
  for (int i = 0; i < 3; ++i) assert_ok(htone_sampler_next(keeping, indices, 8, &count));
  assert_int_equal(count, 2);
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

static void assert_refused(htone_sampler_options options, const char* field) {
  htone_sampler* sampler = NULL;
  assert_fails(htone_sampler_create(&options, &sampler), HTONE_ERROR_INVALID_ARGUMENT, field);
  assert_null(sampler);
}

static void impossible_options_are_refused(void** state) {
  (void)state;
  assert_refused(sampler_options(0, 4), "count");
  assert_refused(sampler_options(-1, 4), "count");
  assert_refused(sampler_options(10, 0), "batch_size");
  assert_refused(sampler_options(10, INT64_MIN), "batch_size");
  htone_sampler_options options = sampler_options(10, 4);
  options.world_size = 0;
  assert_refused(options, "world_size");
  options.world_size = 2;
  options.rank = 2;
  assert_refused(options, "rank");
  options.rank = -1;
  assert_refused(options, "rank");
}

static htone_batches* make_batches(htone_sampler* sampler, size_t count, htone_tensor* const* tensors) {
  htone_batches* batches = NULL;
  assert_ok(htone_batches_create(sampler, count, tensors, &batches));
  return keep_batches(batches);
}

static htone_tensor* batch_of(htone_batches* batches, size_t index) {
  htone_tensor* out = NULL;
  assert_ok(htone_batches_tensor(batches, index, &out));
  return keep_tensor(out);
}

static void batches_hold_the_rows_of_the_samples(void** state) {
  (void)state;
  htone_tensor* sources[] = {make_ramp(HTONE_U8, 3, 10, 2, 2), make_ramp(HTONE_I64, 1, 10)};
  htone_sampler_options options = sampler_options(10, 4);
  options.drop_last = 0;
  htone_batches* batches = make_batches(make_sampler(options), 2, sources);
  htone_sampler* same_order = make_sampler(options);
  for (int batch = 0; batch < 6; ++batch) {
    int64_t indices[4];
    size_t count = 0;
    assert_ok(htone_sampler_next(same_order, indices, 4, &count));
    assert_ok(htone_batches_next(batches));
    htone_tensor *images = batch_of(batches, 0), *labels = batch_of(batches, 1);
    assert_shape(images, (int64_t)count, 2, 2);
    assert_int_equal(dtype_of(images), HTONE_U8);
    int64_t got[4];
    uint8_t pixels[16];
    assert_ok(htone_tensor_read(labels, HTONE_I64, got, sizeof got));
    assert_ok(htone_tensor_read(images, HTONE_U8, pixels, sizeof pixels));
    for (size_t i = 0; i < count; ++i) {
      assert_int_equal(got[i], indices[i]);
      for (int k = 0; k < 4; ++k) assert_int_equal(pixels[i * 4 + (size_t)k], indices[i] * 4 + k);
    }
  }
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
  htone_tensor *out = NULL, *source = make_ramp(HTONE_F32, 1, 6), *shorter = make_ramp(HTONE_F32, 1, 5);
  htone_tensor* scalar = make_scalar(HTONE_F32, 1);
  htone_sampler* sampler = make_sampler(sampler_options(6, 2));
  htone_batches *none = NULL, *batches = make_batches(sampler, 1, &source);
  assert_fails(htone_batches_tensor(batches, 0, &out), HTONE_ERROR_STATE, "");
  assert_ok(htone_batches_next(batches));
  assert_fails(htone_batches_tensor(batches, 1, &out), HTONE_ERROR_INVALID_ARGUMENT, "index");
  assert_fails(htone_batches_tensor(batches, SIZE_MAX, &out), HTONE_ERROR_INVALID_ARGUMENT, "index");
  assert_fails(htone_batches_create(sampler, 1, &shorter, &none), HTONE_ERROR_SHAPE_MISMATCH, "tensors");
  assert_fails(htone_batches_create(sampler, 1, &scalar, &none), HTONE_ERROR_SHAPE_MISMATCH, "tensors");
  htone_tensor *foreign = NULL, *pair[2] = {source, NULL};
  const int64_t shape = 6;
  assert_ok(htone_tensor_create_full(make_device(make_context(1, 0)), HTONE_F32, 1, &shape, 0, &foreign));
  pair[1] = keep_tensor(foreign);
  assert_fails(htone_batches_create(sampler, 2, pair, &none), HTONE_ERROR_DEVICE, "tensors");
  assert_null(none);
  assert_null(out);
}

static void a_batch_without_memory_leaves_the_sampler_where_it_was(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  const int64_t shape[] = {4, 1 << 20};
  htone_tensor* source = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 0, &source));
  keep_tensor(source);
  htone_sampler* sampler = make_sampler(sampler_options(4, 2));
  htone_batches* batches = make_batches(sampler, 1, &source);
  assert_ok(htone_device_set_memory_limit(device, 1));
  assert_fails(htone_batches_next(batches), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_position(sampler, 0, 0);
  assert_ok(htone_device_set_memory_limit(device, 0));
  assert_ok(htone_batches_next(batches));
  assert_position(sampler, 0, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_defaults_are_as_documented),
      cmocka_unit_test(by_default_an_epoch_takes_every_sample),
      cmocka_unit_test(an_epoch_is_a_permutation),
      cmocka_unit_test(equal_seeds_give_equal_orders),
      cmocka_unit_test(without_shuffle_samples_come_in_order),
      cmocka_unit_test(ranks_share_the_samples_out),
      cmocka_unit_test(a_last_batch_that_is_not_full_is_dropped_or_short),
      cmocka_unit_test(the_next_epoch_follows_by_itself),
      cmocka_unit_test(a_buffer_too_small_takes_nothing),
      cmocka_unit_test(impossible_options_are_refused),
      cmocka_unit_test(batches_hold_the_rows_of_the_samples),
      cmocka_unit_test(a_batch_stays_as_it_is_when_the_next_is_taken),
      cmocka_unit_test(batches_move_the_sampler_they_share),
      cmocka_unit_test(strided_sources_are_gathered_right),
      cmocka_unit_test(batches_in_the_wrong_order_or_shape_are_refused),
      cmocka_unit_test(a_batch_without_memory_leaves_the_sampler_where_it_was),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
