/* Data sets of a callback, of windows over tokens, and the two parts of a split. */
#include <stdlib.h>

#include "test_tensors.h"

static htone_sampler_options sampler_options(int64_t count, int64_t batch_size) {
  htone_sampler_options options;
  assert_ok(htone_sampler_options_init(&options));
  options.count = count;
  options.batch_size = batch_size;
  options.drop_last = 0;
  return options;
}

static htone_sampler* make_sampler(int64_t count, int64_t batch_size, int32_t shuffle) {
  htone_sampler_options options = sampler_options(count, batch_size);
  htone_sampler* sampler = NULL;
  options.shuffle = shuffle;
  assert_ok(htone_sampler_create(&options, &sampler));
  return keep_sampler(sampler);
}

static htone_tensor* batch_of(htone_batches* batches, size_t index) {
  htone_tensor* out = NULL;
  assert_ok(htone_batches_tensor(batches, index, &out));
  return keep_tensor(out);
}

/* ---- Callbacks */

/* Sample i has the pixels i, i + 0.5 and the flag i % 2. */
typedef struct Files {
  int calls, destroyed;
  htone_status status;
  uint8_t flag_of_odd;
  htone_batches* batches; /* to take a batch from while one is being taken */
} Files;

static htone_status load_files(size_t index_count, const int64_t* indices, void* const* out_rows, void* user) {
  Files* files = user;
  float* pixels = out_rows[0];
  uint8_t* flags = out_rows[1];
  ++files->calls;
  for (size_t i = 0; i < index_count; ++i) {
    pixels[2 * i] = (float)indices[i];
    pixels[2 * i + 1] = (float)indices[i] + 0.5f;
    flags[i] = indices[i] % 2 ? files->flag_of_odd : 0;
  }
  if (files->batches != NULL) return htone_batches_next(files->batches);
  return files->status;
}

static void destroy_files(void* user) { ++((Files*)user)->destroyed; }

static const htone_row_type kRows[] = {{.dtype = HTONE_F32, .ndim = 2, .shape = {1, 2}}, {.dtype = HTONE_BOOL}};

static htone_batches* make_callback(htone_sampler* sampler, Files* files) {
  htone_batches* batches = NULL;
  assert_ok(
      htone_batches_create_callback(test_device(), sampler, 2, kRows, load_files, files, destroy_files, &batches));
  return batches;
}

static void a_callback_fills_the_samples_of_a_batch(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_batches* batches = make_callback(make_sampler(5, 2, 0), &files);
  assert_ok(htone_batches_next(batches));
  htone_tensor* first = batch_of(batches, 0);
  assert_shape(first, 2, 1, 2);
  assert_int_equal(dtype_of(batch_of(batches, 1)), HTONE_BOOL);
  assert_values(batch_of(batches, 1), 0, 0, 1);
  assert_ok(htone_batches_next(batches));
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 4, 4.5); /* the last batch is not full */
  assert_values(first, 0, 0, 0.5, 1, 1.5);
  assert_true(files.calls == 3 && files.destroyed == 0);
  assert_ok(htone_batches_release(batches));
  assert_int_equal(files.destroyed, 1);
}

static void samples_come_in_the_samplers_order(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_batches* batches = make_callback(make_sampler(50, 50, 1), &files);
  htone_sampler* same_order = make_sampler(50, 50, 1);
  int64_t indices[50];
  size_t count = 0;
  assert_ok(htone_sampler_next(same_order, indices, 50, &count));
  assert_ok(htone_batches_next(batches));
  double* pixels = values_of(batch_of(batches, 0));
  for (int i = 0; i < 50; ++i) assert_true(pixels[2 * i] == (double)indices[i]);
  free(pixels);
  assert_ok(htone_batches_release(batches));
}

static void assert_batch(htone_sampler* sampler, int64_t expected) {
  int64_t epoch = -1, batch = -1;
  assert_ok(htone_sampler_position(sampler, &epoch, &batch));
  assert_int_equal(batch, expected);
}

static void a_callback_that_fails_leaves_sampler_and_batch(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_sampler(6, 2, 0);
  htone_batches* batches = make_callback(sampler, &files);
  assert_ok(htone_batches_next(batches));
  files.status = HTONE_ERROR_IO;
  assert_fails(htone_batches_next(batches), HTONE_ERROR_CALLBACK, "the callback of batches returned");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  files.status = HTONE_OK;
  files.flag_of_odd = 2;
  assert_fails(htone_batches_next(batches), HTONE_ERROR_INVALID_ARGUMENT, "left 2 in out_rows[1], which is no bool");
  assert_batch(sampler, 1);
  assert_values(batch_of(batches, 1), 0, 0, 1);
  files.flag_of_odd = 1;
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 2, 2.5, 3, 3.5);
  assert_ok(htone_batches_release(batches));
}

/* The callback fills the batch that follows, too. If that fails, it is called again when the batch is needed. */
static void batches_that_are_sent_come_one_batch_ahead(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_sampler(6, 2, 0);
  htone_batches* batches = make_callback(sampler, &files);
  assert_ok(htone_batches_send_to(batches, test_device()));
  assert_ok(htone_batches_next(batches));
  assert_int_equal(files.calls, 2);
  assert_values(batch_of(batches, 0), 0, 0, 0.5, 1, 1.5);
  assert_batch(sampler, 1);
  files.status = HTONE_ERROR_IO;
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 2, 2.5, 3, 3.5);
  assert_int_equal(files.calls, 3);
  assert_fails(htone_batches_next(batches), HTONE_ERROR_CALLBACK, "the callback of batches returned");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  assert_batch(sampler, 2);
  files.status = HTONE_OK;
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 4, 4.5, 5, 5.5);
  assert_ok(htone_batches_release(batches));
  assert_int_equal(files.destroyed, 1);
}

static void a_callback_must_not_take_a_batch_of_its_own_source(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_sampler(6, 2, 0);
  htone_batches* batches = make_callback(sampler, &files);
  files.batches = batches;
  assert_fails(htone_batches_next(batches), HTONE_ERROR_CALLBACK, "takes a batch already");
  assert_int_equal(last_native_code(), HTONE_ERROR_STATE);
  files.batches = NULL;
  assert_batch(sampler, 0);
  assert_ok(htone_batches_next(batches));
  assert_ok(htone_batches_release(batches));
}

static void a_source_that_was_not_made_leaves_the_user_data(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_sampler(6, 2, 0);
  htone_batches* out = NULL;
  htone_row_type wrong = {.dtype = HTONE_F32, .ndim = 8};
  assert_fails(
      htone_batches_create_callback(test_device(), sampler, 1, &wrong, load_files, &files, destroy_files, &out),
      HTONE_ERROR_INVALID_ARGUMENT, "rows[0].ndim=8");
  wrong = (htone_row_type){.dtype = 99};
  assert_fails(
      htone_batches_create_callback(test_device(), sampler, 1, &wrong, load_files, &files, destroy_files, &out),
      HTONE_ERROR_INVALID_ARGUMENT, "rows[0].dtype=99");
  assert_fails(htone_batches_create_callback(test_device(), sampler, 2, kRows, load_files, &files, destroy_files, NULL),
               HTONE_ERROR_INVALID_ARGUMENT, "out");
  wrong = (htone_row_type){.dtype = HTONE_F64, .ndim = 1, .shape = {INT64_MAX / 8}};
  assert_ok(htone_batches_create_callback(test_device(), sampler, 1, &wrong, load_files, &files, NULL, &out));
  assert_fails(htone_batches_next(out), HTONE_ERROR_INVALID_ARGUMENT, "rows");
  assert_ok(htone_batches_release(out));
  assert_true(files.destroyed == 0 && files.calls == 0);
}

static void a_scope_of_handles_releases_batches_of_a_callback(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_sampler(5, 2, 0);
  htone_scope* scope = NULL;
  assert_ok(htone_handles_begin(&scope));
  htone_batches* batches = make_callback(sampler, &files);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(files.destroyed, 1);
  assert_fails(htone_batches_next(batches), HTONE_ERROR_INVALID_HANDLE, "batches");
}

/* ---- Windows */

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
    assert_ok(htone_batches_create_windows(make_sampler(3, 2, 0), tokens, 3, 3, &batches));
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
  assert_ok(htone_batches_create_windows(make_sampler(4, 4, 0), tokens, 2, 1, &batches));
  keep_batches(batches);
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 0, 2, 2, 4, 4, 6, 6, 8);
  assert_values(batch_of(batches, 1), 0, 2, 4, 4, 6, 6, 8, 8, 10);
}

static void windows_that_do_not_fit_the_sampler_are_refused(void** state) {
  (void)state;
  htone_batches* out = NULL;
  htone_sampler* sampler = make_sampler(3, 2, 0);
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

/* ---- Splits */

enum { kSamples = 1000 };

static htone_sampler* make_part(htone_data_part part, double share, uint64_t seed, int32_t shuffle) {
  htone_sampler_options options = sampler_options(kSamples, 64);
  htone_sampler* sampler = NULL;
  options.shuffle = shuffle;
  assert_ok(htone_sampler_create_part(&options, part, share, seed, &sampler));
  return keep_sampler(sampler);
}

static size_t take_epoch(htone_sampler* sampler, int64_t* indices) {
  int64_t batches = 0;
  size_t taken = 0;
  assert_ok(htone_sampler_batches_per_epoch(sampler, &batches));
  for (; batches > 0; --batches) {
    size_t count = 0;
    assert_ok(htone_sampler_next(sampler, indices + taken, kSamples - taken, &count));
    taken += count;
  }
  return taken;
}

static void the_parts_share_the_samples_without_overlap(void** state) {
  (void)state;
  for (int32_t shuffle = 0; shuffle < 2; ++shuffle) {
    int64_t indices[kSamples];
    int seen[kSamples] = {0};
    const size_t training = take_epoch(make_part(HTONE_PART_TRAINING, 0.2501, 3, shuffle), indices);
    assert_int_equal(training, 750);
    assert_int_equal(take_epoch(make_part(HTONE_PART_VALIDATION, 0.2501, 3, shuffle), indices + training), 250);
    for (int i = 0; i < kSamples; ++i) ++seen[indices[i]];
    for (int i = 0; i < kSamples; ++i) assert_int_equal(seen[i], 1);
  }
}

static void a_split_is_random_and_depends_on_its_seed_alone(void** state) {
  (void)state;
  int64_t first[kSamples], same[kSamples], other[kSamples];
  take_epoch(make_part(HTONE_PART_VALIDATION, 0.5, 3, 0), first);
  take_epoch(make_part(HTONE_PART_VALIDATION, 0.5, 3, 0), same);
  take_epoch(make_part(HTONE_PART_VALIDATION, 0.5, 4, 0), other);
  assert_memory_equal(first, same, 500 * sizeof *first);
  assert_memory_not_equal(first, other, 500 * sizeof *first);
  int in_lower_half = 0;
  for (int i = 0; i < 500; ++i) {
    in_lower_half += first[i] < kSamples / 2;
    if (i > 0) assert_true(first[i] > first[i - 1]); /* without shuffle in rising order */
  }
  assert_true(in_lower_half > 200 && in_lower_half < 300); /* six standard deviations */
}

static void parts_shuffle_anew_each_epoch_and_share_out_to_ranks(void** state) {
  (void)state;
  int64_t first[kSamples], second[kSamples];
  htone_sampler* sampler = make_part(HTONE_PART_TRAINING, 0.1, 3, 1);
  take_epoch(sampler, first);
  assert_int_equal(take_epoch(sampler, second), 900);
  assert_memory_not_equal(first, second, 900 * sizeof *first);
  int seen[kSamples] = {0};
  for (int32_t rank = 0; rank < 2; ++rank) {
    htone_sampler_options options = sampler_options(kSamples, 64);
    htone_sampler* part = NULL;
    options.rank = rank;
    options.world_size = 2;
    assert_ok(htone_sampler_create_part(&options, HTONE_PART_TRAINING, 0.1, 3, &part));
    assert_int_equal(take_epoch(keep_sampler(part), second), 450);
    for (int i = 0; i < 450; ++i) ++seen[second[i]];
  }
  for (int i = 0; i < 900; ++i) assert_int_equal(seen[first[i]], 1);
}

static void both_parts_serve_batches_over_one_data_set(void** state) {
  (void)state;
  htone_tensor* source = make_ramp(HTONE_I64, 1, kSamples);
  htone_sampler* sampler = make_part(HTONE_PART_VALIDATION, 0.05, 9, 0);
  htone_batches* batches = NULL;
  int64_t indices[kSamples], rows[50];
  assert_int_equal(take_epoch(make_part(HTONE_PART_VALIDATION, 0.05, 9, 0), indices), 50);
  assert_ok(htone_batches_create(sampler, 1, &source, &batches));
  keep_batches(batches);
  assert_ok(htone_batches_next(batches));
  assert_ok(htone_tensor_read(batch_of(batches, 0), HTONE_I64, rows, sizeof rows));
  assert_memory_equal(rows, indices, sizeof rows);
}

static void a_part_without_a_batch_is_refused(void** state) {
  (void)state;
  htone_sampler_options options = sampler_options(10, 4);
  htone_sampler* out = NULL;
  assert_fails(htone_sampler_create_part(&options, HTONE_PART_VALIDATION, 0.05, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=10");
  assert_fails(htone_sampler_create_part(&options, HTONE_PART_TRAINING, 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.count=10");
  options.count = INT64_MAX;
  assert_fails(htone_sampler_create_part(&options, HTONE_PART_TRAINING, 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "expected at most 1152921504606846975");
  assert_null(out);
}

static void a_checkpoint_of_another_part_does_not_fit(void** state) {
  (void)state;
  htone_checkpoint* checkpoint = NULL;
  int64_t step = -1;
  assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
  assert_ok(htone_checkpoint_add_sampler(checkpoint, "data", make_part(HTONE_PART_TRAINING, 0.5, 3, 1)));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_ok(htone_checkpoint_release(checkpoint));
  htone_sampler* const others[] = {make_part(HTONE_PART_VALIDATION, 0.5, 3, 1),
                                   make_part(HTONE_PART_TRAINING, 0.25, 3, 1),
                                   make_part(HTONE_PART_TRAINING, 0.5, 4, 1), make_sampler(kSamples, 64, 1)};
  for (size_t i = 0; i < COUNT_OF(others); ++i) {
    assert_ok(htone_checkpoint_create(test_context(), test_folder(), &checkpoint));
    assert_ok(htone_checkpoint_add_sampler(checkpoint, "data", others[i]));
    assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "it was saved with");
    assert_ok(htone_checkpoint_release(checkpoint));
  }
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
  /* AddressSanitizer ends the process where so much memory is asked for. */
  if (!HALFTONE_ADDRESS_SANITIZER) {
    assert_fails(htone_sampler_next(out, &index, 4, &count), HTONE_ERROR_OUT_OF_MEMORY, "");
  }
  assert_ok(htone_sampler_release(out));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_callback_fills_the_samples_of_a_batch),
      cmocka_unit_test(samples_come_in_the_samplers_order),
      cmocka_unit_test(a_scope_of_handles_releases_batches_of_a_callback),
      cmocka_unit_test(a_callback_that_fails_leaves_sampler_and_batch),
      cmocka_unit_test(batches_that_are_sent_come_one_batch_ahead),
      cmocka_unit_test(a_callback_must_not_take_a_batch_of_its_own_source),
      cmocka_unit_test(a_source_that_was_not_made_leaves_the_user_data),
      cmocka_unit_test(windows_need_a_target_for_every_token),
      cmocka_unit_test(a_window_and_its_target_are_one_token_apart),
      cmocka_unit_test(windows_may_overlap_and_their_tokens_may_be_strided),
      cmocka_unit_test(windows_that_do_not_fit_the_sampler_are_refused),
      cmocka_unit_test(the_parts_share_the_samples_without_overlap),
      cmocka_unit_test(a_split_is_random_and_depends_on_its_seed_alone),
      cmocka_unit_test(parts_shuffle_anew_each_epoch_and_share_out_to_ranks),
      cmocka_unit_test(both_parts_serve_batches_over_one_data_set),
      cmocka_unit_test(a_part_without_a_batch_is_refused),
      cmocka_unit_test(a_checkpoint_of_another_part_does_not_fit),
      cmocka_unit_test(a_sampler_over_more_samples_than_memory_has_numbers_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
