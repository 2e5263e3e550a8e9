/* Contexts and devices: options, lifetimes, names, logging, plugins, the last error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_tensors.h"

static htone_context_options default_options(void) {
  htone_context_options options;
  assert_ok(htone_context_options_init(&options));
  return options;
}

static int32_t threads_of(htone_context* context) {
  int32_t count = -1;
  assert_ok(htone_context_num_threads(context, &count));
  return count;
}

static htone_tensor* bytes_on(htone_device* device, int64_t size) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_U8, 1, &size, 1, &tensor));
  return tensor;
}

static void the_defaults_are_as_documented(void** state) {
  (void)state;
  htone_context_options options;
  memset(&options, 0x5a, sizeof options);
  assert_ok(htone_context_options_init(&options));
  assert_int_equal(options.struct_size, sizeof options);
  assert_int_equal(options.num_threads, 0);
  assert_true(options.seed == 0);
  assert_true(options.allocator == NULL && options.io == NULL && options.clock == NULL);
  assert_int_equal(options.matmul_precision, HTONE_MATMUL_PRECISION_HIGHEST);
}

static void the_number_of_threads_is_as_asked(void** state) {
  (void)state;
  assert_int_equal(threads_of(make_context(1, 0)), 1);
  assert_int_equal(threads_of(make_context(7, 0)), 7);
  assert_int_equal(threads_of(make_context(256, 0)), 256);
  const int32_t by_default = threads_of(make_context(0, 0));
  assert_true(by_default >= 1 && by_default <= 256);
}

/* A26 */
static void an_absurd_number_of_threads_is_refused(void** state) {
  (void)state;
  static const int32_t wrong[] = {-1, 257, 100000, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_context* context = NULL;
    htone_context_options options = default_options();
    options.num_threads = wrong[i];
    assert_fails(htone_context_create(&options, &context), HTONE_ERROR_INVALID_ARGUMENT, "num_threads");
    assert_null(context);
  }
}

/* The devices of the context begin with the option; devices_test.c shows it by itself. 1 + 2^-12 is 1 in TF32. */
static void a_context_in_tf32_rounds_products(void** state) {
  (void)state;
  htone_context_options options = default_options();
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_tensor *x = NULL, *product = NULL;
  const int64_t shape[] = {1, 1};
  double number = 0;
  options.matmul_precision = HTONE_MATMUL_PRECISION_TF32;
  assert_ok(htone_context_create(&options, &context));
  keep_context(context);
  assert_ok(htone_device_create(context, "cpu", &device));
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1 + 0x1p-12, &x));
  assert_ok(htone_matmul(x, x, &product));
  assert_ok(htone_tensor_item(product, &number));
  assert_true(number == 1);
  assert_ok(htone_tensor_release(product));
  assert_ok(htone_tensor_release(x));
  assert_ok(htone_device_release(device));
}

static void the_default_context_is_one_for_the_process(void** state) {
  (void)state;
  htone_tensor *tensors[2], *sum = NULL;
  for (int i = 0; i < 2; ++i) {
    htone_context* context = NULL;
    assert_ok(htone_context_default(&context));
    tensors[i] = keep_tensor(bytes_on(make_device(keep_context(context)), 3));
  }
  assert_ok(htone_add(tensors[0], tensors[1], &sum));
  assert_values(keep_tensor(sum), 0, 2, 2, 2);
}

static htone_tensor* ones_on(htone_device* device, htone_dtype dtype, int32_t ndim) {
  const int64_t shape[] = {2, 2};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(device, dtype, ndim, shape, 1, &tensor));
  return keep_tensor(tensor);
}

/* A12 */
static void tensors_of_two_contexts_do_not_mix(void** state) {
  (void)state;
  htone_device* other = make_device(make_context(1, 0));
  htone_tensor *here = ones_on(test_device(), HTONE_F32, 2), *there = ones_on(other, HTONE_F32, 2), *out = NULL;
  assert_fails(htone_add(here, there, &out), HTONE_ERROR_DEVICE, "b");
  assert_fails(htone_matmul(there, here, &out), HTONE_ERROR_DEVICE, "b");
  assert_fails(htone_linear(here, here, ones_on(other, HTONE_F32, 1), &out), HTONE_ERROR_DEVICE, "bias");
  assert_fails(htone_cross_entropy(here, ones_on(other, HTONE_I64, 1), NULL, &out), HTONE_ERROR_DEVICE, "targets");
  assert_fails(htone_accuracy(here, ones_on(other, HTONE_I64, 1), &out), HTONE_ERROR_DEVICE, "targets");
  assert_null(out);
}

/* A12 */
static void a_device_that_is_not_there_is_refused(void** state) {
  (void)state;
  static const char* const wrong[] = {"cpu:99", "cuda:99", "", "gpu", "CPU", "cpu ", "cpu:", "cpu:-1", "a\nb"};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_device* device = NULL;
    assert_fails(htone_device_create(test_context(), wrong[i], &device), HTONE_ERROR_DEVICE, "name");
    assert_null(device);
  }
  assert_values(make_ramp(HTONE_F32, 1, 2), 0, 0, 1);
}

/* A13 */
static void cuda_is_refused_where_there_is_none_and_cpu_keeps_working(void** state) {
  (void)state;
  htone_device* device = NULL;
  assert_fails(htone_device_create(test_context(), "cuda", &device), HTONE_ERROR_DEVICE, "cuda");
  assert_fails(htone_device_create(test_context(), "cuda:0", &device), HTONE_ERROR_DEVICE, "cuda");
  assert_null(device);
  assert_values(apply2(htone_add, make_ramp(HTONE_F32, 1, 2), make_ramp(HTONE_F32, 1, 2)), 0, 0, 2);
}

static void a_device_tells_kind_and_name(void** state) {
  (void)state;
  htone_device_type kind = 0;
  char name[4] = {'#', '#', '#', '#'};
  size_t length = 0;
  assert_ok(htone_device_kind(test_device(), &kind));
  assert_int_equal(kind, HTONE_DEVICE_CPU);
  assert_fails(htone_device_name(test_device(), name, 3, &length), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity");
  assert_int_equal(length, 3);
  assert_int_equal(name[3], '#');
  assert_non_null(memchr(name, 0, 3));
  assert_ok(htone_device_name(test_device(), name, 4, &length));
  assert_string_equal(name, "cpu");
  assert_ok(htone_device_synchronize(test_device()));
}

/* A6 */
static void objects_outlive_the_handle_of_their_context(void** state) {
  (void)state;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_tensor* tensor = NULL;
  const int64_t shape = 100000;
  assert_ok(htone_context_create(NULL, &context));
  assert_ok(htone_device_create(context, "cpu", &device));
  assert_ok(htone_context_release(context));
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 1, &shape, 2, &tensor));
  assert_ok(htone_device_release(device));
  keep_tensor(tensor);
  assert_near(item_of(sum_of(apply2(htone_mul, tensor, tensor))), 400000, 0);
  assert_fails(htone_device_create(context, "cpu", &device), HTONE_ERROR_INVALID_HANDLE, "context");
}

static void a_table_with_a_missing_function_is_refused(void** state) {
  (void)state;
  htone_context* context = NULL;
  const htone_allocator allocator = {.struct_size = sizeof allocator};
  const htone_io io = {.struct_size = sizeof io};
  const htone_clock clock = {.struct_size = sizeof clock};
  htone_context_options options = default_options();
  options.allocator = &allocator;
  assert_fails(htone_context_create(&options, &context), HTONE_ERROR_INVALID_ARGUMENT, "allocator");
  options = default_options();
  options.io = &io;
  assert_fails(htone_context_create(&options, &context), HTONE_ERROR_INVALID_ARGUMENT, "io");
  options = default_options();
  options.clock = &clock;
  assert_fails(htone_context_create(&options, &context), HTONE_ERROR_INVALID_ARGUMENT, "clock");
  assert_null(context);
}

static void ignore_message(const char* message, void* user) {
  (void)message;
  (void)user;
}

static void count_call(void* user) { ++*(int*)user; }

static void a_log_receiver_is_destroyed_once_when_replaced(void** state) {
  (void)state;
  int first = 0, second = 0;
  assert_ok(htone_log_set_callback(ignore_message, &first, count_call));
  assert_int_equal(first, 0);
  assert_ok(htone_log_set_callback(ignore_message, &second, count_call));
  assert_int_equal(first, 1);
  assert_ok(htone_log_set_callback(NULL, NULL, NULL));
  assert_ok(htone_log_set_callback(NULL, NULL, NULL));
  assert_true(first == 1 && second == 1);
}

typedef struct Log {
  int messages;
  htone_status status; /* of the call that the callback made */
  char last[256];
} Log;

/* A log receiver may call the library, because no lock is held. */
static void note_message(const char* message, void* user) {
  Log* log = user;
  int64_t handles = 0;
  ++log->messages;
  snprintf(log->last, sizeof log->last, "%s", message);
  log->status = htone_debug_live_handles(&handles);
}

/* H13 */
static void a_warning_reaches_the_log_receiver(void** state) {
  (void)state;
  Log log = {0};
  assert_ok(htone_log_set_callback(note_message, &log, NULL));
  setenv("HALFTONE_NUM_THREADS", "many", 1);
  make_context(0, 0);
  unsetenv("HALFTONE_NUM_THREADS");
  make_context(0, 0);
  assert_ok(htone_log_set_callback(NULL, NULL, NULL));
  assert_int_equal(log.messages, 1);
  assert_non_null(strstr(log.last, "HALFTONE_NUM_THREADS"));
  assert_null(strchr(log.last, '\n'));
}

/* A24 */
static void a_name_of_64_kib_is_refused_with_a_message_of_one_line(void** state) {
  (void)state;
  enum { kLength = 65536 };
  static char name[kLength + 1];
  htone_device* device = NULL;
  memset(name, 'x', kLength);
  name[kLength] = 0;
  name[3] = '\n';
  name[4] = '\xff'; /* not UTF-8 */
  assert_fails(htone_device_create(test_context(), name, &device), HTONE_ERROR_DEVICE, "name");
  assert_fails(htone_context_load_plugin(test_context(), name), HTONE_ERROR_IO, "path");
}

/* A13 */
static void a_file_that_is_no_plugin_is_refused(void** state) {
  (void)state;
  assert_fails(htone_context_load_plugin(test_context(), "/nowhere/libnothing.so"), HTONE_ERROR_IO,
               "/nowhere/libnothing.so");
  assert_fails(htone_context_load_plugin(test_context(), "/proc/self/cmdline"), HTONE_ERROR_IO, "path");
  assert_fails(htone_context_load_plugin(test_context(), "libm.so.6"), HTONE_ERROR_FORMAT, "libm.so.6");
}

static void the_last_error_stays_until_the_next_failure(void** state) {
  (void)state;
  htone_error_info info = {.struct_size = sizeof info};
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 2);
  double value = 0;
  assert_int_equal(htone_tensor_item(tensor, &value), HTONE_ERROR_SHAPE_MISMATCH);
  assert_int_equal(numel_of(tensor), 2);
  assert_ok(htone_error_last(&info));
  assert_int_equal(info.status, HTONE_ERROR_SHAPE_MISMATCH);
  assert_int_equal(info.argument_index, 0);
  assert_int_equal(strncmp(info.message, "htone_tensor_item: ", 19), 0);
  assert_null(strchr(info.message, '\n'));
  assert_int_equal(htone_error_last(NULL), HTONE_ERROR_INVALID_ARGUMENT);
  info.struct_size = 15;
  assert_int_equal(htone_error_last(&info), HTONE_ERROR_INVALID_ARGUMENT);
  htone_error_info short_info = {.struct_size = 20};
  memset(short_info.message, '#', sizeof short_info.message);
  assert_ok(htone_error_last(&short_info));
  assert_int_equal(short_info.status, HTONE_ERROR_SHAPE_MISMATCH);
  assert_int_equal(short_info.message[4], '#');
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_defaults_are_as_documented),
      cmocka_unit_test(the_number_of_threads_is_as_asked),
      cmocka_unit_test(an_absurd_number_of_threads_is_refused),
      cmocka_unit_test(a_context_in_tf32_rounds_products),
      cmocka_unit_test(the_default_context_is_one_for_the_process),
      cmocka_unit_test(tensors_of_two_contexts_do_not_mix),
      cmocka_unit_test(a_device_that_is_not_there_is_refused),
      cmocka_unit_test(cuda_is_refused_where_there_is_none_and_cpu_keeps_working),
      cmocka_unit_test(a_device_tells_kind_and_name),
      cmocka_unit_test(objects_outlive_the_handle_of_their_context),
      cmocka_unit_test(a_table_with_a_missing_function_is_refused),
      cmocka_unit_test(a_log_receiver_is_destroyed_once_when_replaced),
      cmocka_unit_test(a_warning_reaches_the_log_receiver),
      cmocka_unit_test(a_name_of_64_kib_is_refused_with_a_message_of_one_line),
      cmocka_unit_test(a_file_that_is_no_plugin_is_refused),
      cmocka_unit_test(the_last_error_stays_until_the_next_failure),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
