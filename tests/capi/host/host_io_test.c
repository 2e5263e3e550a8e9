/* A caller's table of file functions that returns nonsense: more bytes than requested, impossible sizes, invalid names.
 * Test names begin with their rows of tests/faults.md. */
#include <errno.h>
#include <stdio.h>

#include "test_io.h"
#include "test_tensors.h"

static const int64_t kExcesses[] = {1, 4096, INT64_C(1) << 40, INT64_MAX / 2};

static htone_checkpoint* open_run(htone_context* context, htone_state_dict* dict) {
  char path[512];
  htone_checkpoint* checkpoint = NULL;
  snprintf(path, sizeof path, "%s/run", test_folder());
  assert_ok(htone_checkpoint_create(context, path, &checkpoint));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "own", dict));
  return checkpoint;
}

static htone_state_dict* dict_of(htone_tensor* tensor) {
  htone_state_dict* dict = NULL;
  assert_ok(htone_state_dict_create(&dict));
  assert_ok(htone_state_dict_add(keep_state_dict(dict), "values", tensor));
  return dict;
}

static void assert_overflow(htone_status status) {
  assert_int_equal(status, HTONE_ERROR_IO);
  assert_int_equal(last_native_code(), EOVERFLOW);
}

static void a32_an_io_that_tells_of_more_bytes_than_asked_for_is_refused(void** state) {
  (void)state;
  static TestIo io;
  int64_t step = -1;
  double three = 3;
  htone_tensor* values = make_tensor(HTONE_F64, &three, 1, 1);
  begin_io(&io, NULL, NULL);
  htone_checkpoint* checkpoint = open_run(make_io_context(&io), dict_of(values));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_tensor_fill(values, 5));
  for (size_t i = 0; i < COUNT_OF(kExcesses); ++i) {
    io.excess = kExcesses[i];
    assert_overflow(htone_checkpoint_save(checkpoint, 2));
    assert_overflow(htone_checkpoint_load(checkpoint, &step));
    assert_overflow(htone_checkpoint_verify(checkpoint, 1));
    assert_values(values, 0, 5);
  }
  io.excess = 0;
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_true(step == 1);
  assert_values(values, 0, 3);
  assert_ok(htone_checkpoint_save(checkpoint, 2));
  assert_ok(htone_checkpoint_release(checkpoint));
}

/* Creating a context reads the processor quota through this table. */
static void a32_a_context_over_such_an_io_has_threads_all_the_same(void** state) {
  (void)state;
  static TestIo io;
  htone_context_options options;
  begin_io(&io, NULL, NULL);
  assert_ok(htone_context_options_init(&options));
  options.io = &io.table;
  for (size_t i = 0; i < COUNT_OF(kExcesses); ++i) {
    htone_context* context = NULL;
    int32_t threads = 0;
    io.excess = kExcesses[i];
    assert_ok(htone_context_create(&options, &context));
    assert_ok(htone_context_num_threads(context, &threads));
    assert_true(threads >= 1);
    assert_ok(htone_context_release(context));
  }
}

static int64_t absurd_size(void* user, int64_t file) {
  (void)user, (void)file;
  return INT64_MAX;
}

static int64_t name_without_text(void* user, const char* path, int64_t (*take)(void* taker, const char* name),
                                 void* taker) {
  (void)user, (void)path;
  return take(taker, NULL);
}

static void a32_an_io_that_tells_of_sizes_and_names_that_are_none_is_refused(void** state) {
  (void)state;
  static TestIo io;
  int64_t step = -1;
  double three = 3;
  htone_tensor* values = make_tensor(HTONE_F64, &three, 1, 1);
  htone_state_dict* dict = dict_of(values);
  begin_io(&io, NULL, NULL);
  htone_checkpoint* checkpoint = open_run(make_io_context(&io), dict);
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_ok(htone_tensor_fill(values, 5));

  begin_io(&io, NULL, NULL);
  io.table.size = absurd_size;
  checkpoint = open_run(make_io_context(&io), dict);
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "");
  assert_ok(htone_checkpoint_release(checkpoint));

  begin_io(&io, NULL, NULL);
  io.table.list = name_without_text;
  checkpoint = open_run(make_io_context(&io), dict);
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_IO, "");
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_values(values, 0, 5);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a32_an_io_that_tells_of_more_bytes_than_asked_for_is_refused),
      cmocka_unit_test(a32_a_context_over_such_an_io_has_threads_all_the_same),
      cmocka_unit_test(a32_an_io_that_tells_of_sizes_and_names_that_are_none_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
