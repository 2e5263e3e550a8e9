/* A trace through the C API: a step of training, and the errors of its calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_modules.h"

static const char* const kPath = "capi_trace_test.json";

static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  const long size = ftell(file);
  assert_true(size > 0);
  rewind(file);
  char* text = calloc((size_t)size + 1, 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
  fclose(file);
  return text;
}

/* Forward and backward of two layers. */
static void train_a_step(void) {
  static const int64_t shape[] = {8, 16};
  htone_context* context = make_context(1, 1);
  htone_device* device = make_device(context);
  htone_module* relu = NULL;
  htone_tensor *x = NULL, *loss = NULL;
  assert_ok(htone_module_create_relu(&relu));
  htone_module* layers[] = {make_linear(device, 16, 16, 1), keep_module(relu)};
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 0.5, &x));
  assert_ok(htone_sum(forward(make_sequential(2, layers), keep_tensor(x)), 0, NULL, 0, &loss));
  assert_ok(htone_tensor_backward(keep_tensor(loss), NULL, 0));
}

static void a_step_is_shown_with_its_layers_operations_and_gradients(void** state) {
  (void)state;
  htone_context* context = make_context(1, 1);
  assert_ok(htone_trace_start(NULL));
  train_a_step();
  assert_ok(htone_trace_stop(context, kPath));
  char* text = read_text(kPath);
  assert_non_null(strstr(text, "\"name\":\"sequential\",\"cat\":\"layer\""));
  assert_non_null(strstr(text, "\"name\":\"0 (linear)\",\"cat\":\"layer\""));
  assert_non_null(strstr(text, "\"name\":\"linear\",\"cat\":\"operation\""));
  assert_non_null(strstr(text, "\"name\":\"linear\",\"cat\":\"backward\""));
  assert_non_null(strstr(text, "\"dropped_events\":0"));
  free(text);
  remove(kPath);
}

static void events_beyond_the_limit_are_counted(void** state) {
  (void)state;
  htone_context* context = make_context(1, 1);
  htone_trace_options options = HTONE_TRACE_OPTIONS_INIT;
  options.max_events = 2;
  assert_ok(htone_trace_start(&options));
  train_a_step();
  assert_ok(htone_trace_stop(context, kPath));
  char* text = read_text(kPath);
  assert_null(strstr(text, "\"dropped_events\":0"));
  free(text);
  remove(kPath);
}

static void a_trace_that_cannot_be_written_goes_on(void** state) {
  (void)state;
  htone_context* context = make_context(1, 1);
  assert_ok(htone_trace_start(NULL));
  assert_fails(htone_trace_start(NULL), HTONE_ERROR_STATE, "is on already");
  assert_fails(htone_trace_stop(context, "/nowhere/trace.json"), HTONE_ERROR_IO, "/nowhere/trace.json");
  assert_fails(htone_trace_stop(context, ""), HTONE_ERROR_INVALID_ARGUMENT, "path is empty");
  assert_ok(htone_trace_stop(context, kPath));
  assert_fails(htone_trace_stop(context, kPath), HTONE_ERROR_STATE, "no trace is on");
  remove(kPath);
}

static void s19_a_trace_does_not_replace_a_fifo(void** state) {
  (void)state;
  struct stat now;
  htone_context* context = make_context(1, 1);
  assert_int_equal(mkfifo(kPath, 0600), 0);
  assert_ok(htone_trace_start(NULL));
  assert_fails(htone_trace_stop(context, kPath), HTONE_ERROR_IO, "json: it is no regular file");
  assert_int_equal(lstat(kPath, &now), 0);
  assert_true(S_ISFIFO(now.st_mode));
  remove(kPath);
  assert_ok(htone_trace_stop(context, kPath));
  remove(kPath);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_is_shown_with_its_layers_operations_and_gradients),
      cmocka_unit_test(events_beyond_the_limit_are_counted),
      cmocka_unit_test(a_trace_that_cannot_be_written_goes_on),
      cmocka_unit_test(s19_a_trace_does_not_replace_a_fifo),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
