/* A file that is loaded into a module tensor by tensor: its memory, and what an error changes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_child.h"
#include "test_io.h"
#include "test_modules.h"

enum { kWidth = 1024, kLayers = 8, kLargest = 2 * kWidth * kWidth };

static const char* file_path(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/file.safetensors", test_folder());
  return path;
}

static void save_state(htone_module* module) {
  htone_state_dict* dict = NULL;
  assert_ok(htone_module_state_dict(module, &dict));
  assert_ok(htone_safetensors_save(test_context(), file_path(), keep_state_dict(dict)));
}

/* The first element. */
static double value_at(htone_tensor* tensor) {
  double* values = values_of(tensor);
  const double first = values[0];
  free(values);
  return first;
}

static htone_module* make_net(htone_device* device, int64_t width, int layers, htone_dtype dtype) {
  htone_module* linears[kLayers];
  htone_linear_options options = HTONE_LINEAR_OPTIONS_INIT;
  options.dtype = dtype;
  for (int i = 0; i < layers; ++i) {
    assert_ok(htone_module_create_linear(device, width, width, &options, &linears[i]));
    keep_module(linears[i]);
  }
  return make_sequential((size_t)layers, linears);
}

static void tensors_are_converted_into_their_places(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_BF16, HTONE_F64};
  htone_module* saved = make_net(test_device(), 3, 2, HTONE_BF16);
  save_state(saved);
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    htone_module* module = make_net(test_device(), 3, 2, dtypes[i]);
    assert_ok(htone_module_load_file(module, file_path(), NULL));
    for (size_t k = 0; k < 4; ++k) assert_tensors_near(weights_of(module, k), weights_of(saved, k), 0);
  }
}

/* By the counters of the allocator: nothing in the module's dtype, one tensor in another. Weights that are not made yet
 * count, too. */
static void beside_the_module_one_tensor_is_in_memory(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_BF16, HTONE_F32};
  save_state(make_net(test_device(), kWidth, kLayers, HTONE_BF16));
  for (int is_deferred = 0; is_deferred < 2; ++is_deferred) {
    for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
      htone_memory_stats before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
      htone_scope* scope = NULL;
      if (is_deferred) assert_ok(htone_deferred_init_begin(&scope));
      htone_module* module = make_net(test_device(), kWidth, kLayers, dtypes[i]);
      if (is_deferred) assert_ok(htone_scope_end(scope));
      assert_ok(htone_device_memory_stats(test_device(), &before));
      assert_ok(htone_device_reset_peak_memory(test_device()));
      assert_ok(htone_module_load_file(module, file_path(), NULL));
      assert_ok(htone_device_memory_stats(test_device(), &after));
      const int64_t own = after.current - before.current;
      assert_true(is_deferred ? own >= kLayers * kLargest : own == 0);
      assert_true(after.peak - after.current <= (dtypes[i] == HTONE_BF16 ? 0 : kLargest));
    }
  }
}

/* The most memory that this process has ever had, in bytes; 0 if the system does not tell. */
static int64_t most_memory(void) {
  char line[256];
  long long kilobytes = 0;
  FILE* status = fopen("/proc/self/status", "r");
  if (status == NULL) return 0;
  while (fgets(line, sizeof line, status) != NULL && sscanf(line, "VmHWM: %lld kB", &kilobytes) != 1) continue;
  fclose(status);
  return 1024 * (int64_t)kilobytes;
}

/* 64 MB of weights in a process of its own, which has touched them: 4 MB of one tensor are half of the bound. */
static int load_in_child(void* unused) {
  (void)unused;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_module* layers[4 * kLayers];
  htone_module* module = NULL;
  htone_linear_options options = HTONE_LINEAR_OPTIONS_INIT;
  options.dtype = HTONE_BF16;
  if (htone_context_create(NULL, &context) || htone_device_create(context, "cpu", &device)) return 1;
  for (int i = 0; i < 4 * kLayers; ++i) {
    if (htone_module_create_linear(device, kWidth, kWidth, &options, &layers[i])) return 2;
  }
  if (htone_module_create_sequential(4 * kLayers, layers, &module)) return 3;
  const int64_t before = most_memory();
  if (before == 0) return kCannotTry;
  if (htone_module_load_file(module, file_path(), NULL)) return 4;
  const int64_t more = most_memory() - before;
  return more <= 4 * kLargest ? 0 : 5;
}

static void the_process_grows_by_less_than_the_file(void** state) {
  (void)state;
  if (kSanitized) skip_test("a sanitizer's memory is not the library's");
  skip_under_valgrind();
  htone_module* layers[4];
  for (int i = 0; i < 4; ++i) layers[i] = make_net(test_device(), kWidth, kLayers, HTONE_BF16);
  htone_state_dict* whole = NULL;
  assert_ok(htone_state_dict_create(&whole));
  keep_state_dict(whole);
  for (int i = 0; i < 4 * kLayers; ++i) {
    char name[32];
    snprintf(name, sizeof name, "%d.weight", i);
    assert_ok(htone_state_dict_add(whole, name, weights_of(layers[i / kLayers], (size_t)(i % kLayers) * 2)));
    snprintf(name, sizeof name, "%d.bias", i);
    assert_ok(htone_state_dict_add(whole, name, weights_of(layers[i / kLayers], (size_t)(i % kLayers) * 2 + 1)));
  }
  assert_ok(htone_safetensors_save(test_context(), file_path(), whole));
  const int code = code_of_child(load_in_child, NULL);
  if (code == kCannotTry) skip_test("the system does not tell the most memory of a process");
  assert_int_equal(code, 0);
}

/* F15 */
static void a_file_that_does_not_fit_changes_nothing(void** state) {
  (void)state;
  htone_module *module = make_net(test_device(), 3, 2, HTONE_F32), *relu = NULL;
  htone_load_options loose = HTONE_LOAD_OPTIONS_INIT;
  loose.strict = 0;
  const double before = value_at(weights_of(module, 0));
  save_state(make_net(test_device(), 3, 3, HTONE_F32));
  assert_fails(htone_module_load_file(module, file_path(), NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "path does not fit the module; missing: 0; unexpected: 2 (2.weight, 2.bias)");
  assert_near(value_at(weights_of(module, 0)), before, 0);
  assert_ok(htone_module_load_file(module, file_path(), &loose));
  assert_true(value_at(weights_of(module, 0)) != before);
  save_state(make_net(test_device(), 2, 2, HTONE_F32));
  assert_fails(htone_module_load_file(module, file_path(), NULL), HTONE_ERROR_SHAPE_MISMATCH,
               "path has other shapes than the module: 4 (0.weight [2, 2] for [3, 3]");
  assert_fails(htone_module_load_file(module, "/nowhere/file", NULL), HTONE_ERROR_IO, "/nowhere/file");
  assert_ok(htone_module_create_relu(&relu));
  assert_fails(htone_module_load_file(keep_module(relu), file_path(), NULL), HTONE_ERROR_INVALID_ARGUMENT,
               "module has neither parameters nor buffers");
}

static int64_t fail_later_reads(TestIo* io, const char* call) {
  int* reads_left = io->of_test;
  if (strcmp(call, "read") != 0 || *reads_left < 0) return 0;
  return (*reads_left)-- > 0 ? 0 : -EIO;
}

/* F30: whether the disk fails in the header or in a tensor, the error says what has happened. */
static void a_disk_that_fails_is_told_with_what_was_loaded(void** state) {
  (void)state;
  static TestIo io;
  int reads = -1, is_partly = 0;
  htone_device* device = NULL;
  begin_io(&io, fail_later_reads, &reads);
  assert_ok(htone_device_create(make_io_context(&io), "cpu", &device));
  htone_module *saved = make_net(test_device(), 3, 2, HTONE_F32), *module = make_net(device, 3, 2, HTONE_F32);
  assert_ok(htone_device_release(device));
  save_state(saved);
  htone_status status = HTONE_ERROR_IO;
  for (int allowed = 0; status != HTONE_OK && allowed < 100; ++allowed) {
    double before[4], changed = 0;
    htone_error_info info = HTONE_ERROR_INFO_INIT;
    for (size_t k = 0; k < 4; ++k) before[k] = value_at(weights_of(module, k));
    reads = allowed;
    status = htone_module_load_file(module, file_path(), NULL);
    if (status == HTONE_OK) break;
    assert_ok(htone_error_last(&info));
    assert_int_equal(status, HTONE_ERROR_IO);
    assert_int_equal(info.native_code, EIO);
    for (size_t k = 0; k < 4; ++k) changed += value_at(weights_of(module, k)) != before[k];
    is_partly = strstr(info.message, "the module was partly loaded and must be loaded again: ") != NULL;
    assert_true(is_partly || changed == 0);
  }
  assert_true(status == HTONE_OK && is_partly);
  for (size_t k = 0; k < 4; ++k) assert_tensors_near(weights_of(module, k), weights_of(saved, k), 0);
}

static htone_status no_forward(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  return HTONE_OK;
}

/* The bool is behind the weights in the file. */
static void a_bool_of_2_is_found_before_anything_is_loaded(void** state) {
  (void)state;
  htone_module *flagged = NULL, *linear = make_linear(test_device(), 2, 2, 0);
  assert_ok(htone_module_create_custom(no_forward, NULL, NULL, NULL, &flagged));
  keep_module(flagged);
  assert_ok(htone_module_add_buffer(flagged, "flag", make_ramp(HTONE_BOOL, 1, 2)));
  assert_ok(htone_module_add_child(flagged, "linear", linear));
  save_state(flagged);
  FILE* file = fopen(file_path(), "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, -1, SEEK_END), 0);
  assert_int_equal(fputc(2, file), 2);
  fclose(file);
  assert_ok(htone_tensor_fill(weights_of(linear, 0), 7));
  assert_fails(htone_module_load_file(flagged, file_path(), NULL), HTONE_ERROR_FORMAT, "tensor flag: 2 is no bool");
  assert_values(weights_of(linear, 0), 0, 7, 7, 7, 7);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_are_converted_into_their_places),
      cmocka_unit_test(beside_the_module_one_tensor_is_in_memory),
      cmocka_unit_test(the_process_grows_by_less_than_the_file),
      cmocka_unit_test(a_file_that_does_not_fit_changes_nothing),
      cmocka_unit_test(a_disk_that_fails_is_told_with_what_was_loaded),
      cmocka_unit_test(a_bool_of_2_is_found_before_anything_is_loaded),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
