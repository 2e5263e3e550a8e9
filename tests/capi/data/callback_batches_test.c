/* Batches that a callback of the program fills. */
#include "test_data.h"

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
  htone_batches* batches = make_callback(make_ordered_sampler(5, 2), &files);
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

static void a_callback_that_fails_leaves_sampler_and_batch(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_ordered_sampler(6, 2);
  htone_batches* batches = make_callback(sampler, &files);
  assert_ok(htone_batches_next(batches));
  files.status = HTONE_ERROR_IO;
  assert_fails(htone_batches_next(batches), HTONE_ERROR_CALLBACK, "the callback of batches returned");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  files.status = HTONE_OK;
  files.flag_of_odd = 2;
  assert_fails(htone_batches_next(batches), HTONE_ERROR_INVALID_ARGUMENT, "left 2 in out_rows[1], which is no bool");
  assert_position(sampler, 0, 1);
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
  htone_sampler* sampler = make_ordered_sampler(6, 2);
  htone_batches* batches = make_callback(sampler, &files);
  assert_ok(htone_batches_send_to(batches, test_device()));
  assert_ok(htone_batches_next(batches));
  assert_int_equal(files.calls, 2);
  assert_values(batch_of(batches, 0), 0, 0, 0.5, 1, 1.5);
  assert_position(sampler, 0, 1);
  files.status = HTONE_ERROR_IO;
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 2, 2.5, 3, 3.5);
  assert_int_equal(files.calls, 3);
  assert_fails(htone_batches_next(batches), HTONE_ERROR_CALLBACK, "the callback of batches returned");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  assert_position(sampler, 0, 2);
  files.status = HTONE_OK;
  assert_ok(htone_batches_next(batches));
  assert_values(batch_of(batches, 0), 0, 4, 4.5, 5, 5.5);
  assert_ok(htone_batches_release(batches));
  assert_int_equal(files.destroyed, 1);
}

static void a_callback_must_not_take_a_batch_of_its_own_source(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_ordered_sampler(6, 2);
  htone_batches* batches = make_callback(sampler, &files);
  files.batches = batches;
  assert_fails(htone_batches_next(batches), HTONE_ERROR_CALLBACK, "takes a batch already");
  assert_int_equal(last_native_code(), HTONE_ERROR_STATE);
  files.batches = NULL;
  assert_position(sampler, 0, 0);
  assert_ok(htone_batches_next(batches));
  assert_ok(htone_batches_release(batches));
}

static void a_source_that_was_not_made_leaves_the_user_data(void** state) {
  (void)state;
  Files files = {.flag_of_odd = 1};
  htone_sampler* sampler = make_ordered_sampler(6, 2);
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
  htone_sampler* sampler = make_ordered_sampler(5, 2);
  htone_scope* scope = NULL;
  assert_ok(htone_handles_begin(&scope));
  htone_batches* batches = make_callback(sampler, &files);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(files.destroyed, 1);
  assert_fails(htone_batches_next(batches), HTONE_ERROR_INVALID_HANDLE, "batches");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_callback_fills_the_samples_of_a_batch),
      cmocka_unit_test(a_callback_that_fails_leaves_sampler_and_batch),
      cmocka_unit_test(batches_that_are_sent_come_one_batch_ahead),
      cmocka_unit_test(a_callback_must_not_take_a_batch_of_its_own_source),
      cmocka_unit_test(a_source_that_was_not_made_leaves_the_user_data),
      cmocka_unit_test(a_scope_of_handles_releases_batches_of_a_callback),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
