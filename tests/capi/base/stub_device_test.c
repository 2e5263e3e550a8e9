/* A second device, from the stub plugin. It must not mix with the CPU (A12), and it may run out of memory, in total or
 * only in one piece (M3). */
#include <dlfcn.h>
#include <string.h>

#include "test_tensors.h"

enum { kMiB = 1 << 20, kScriptTensors = 6 };

typedef void (*SetMemory)(size_t capacity, int64_t failing_request, int32_t for_ever);
typedef int64_t (*MemoryRequests)(void);

static SetMemory set_memory;
static MemoryRequests memory_requests;

/* ISO C has no conversion from an object's address to a function's. */
static void find(void* library, const char* name, void* out) {
  void* symbol = dlsym(library, name);
  assert_non_null(symbol);
  memcpy(out, &symbol, sizeof symbol);
}

static htone_device* make_stub(void) {
  htone_context* context = make_context(1, 0);
  htone_device* device = NULL;
  assert_ok(htone_context_load_plugin(context, FAKE_PLUGIN));
  void* library = dlopen(FAKE_PLUGIN, RTLD_NOW);
  assert_non_null(library);
  find(library, "fake_plugin_set_memory", &set_memory);
  find(library, "fake_plugin_memory_requests", &memory_requests);
  set_memory(SIZE_MAX, -1, 0);
  assert_ok(htone_device_create(context, "fake", &device));
  return keep_device(device);
}

static htone_status filled(htone_device* device, int64_t count, double value, htone_tensor** out) {
  return htone_tensor_create_full(device, HTONE_F32, 1, &count, value, out);
}

static htone_tensor* kept_filled(htone_device* device, int64_t count, double value) {
  htone_tensor* tensor = NULL;
  assert_ok(filled(device, count, value, &tensor));
  return keep_tensor(tensor);
}

/* The stub reads and writes only f32. */
static double first_of(htone_tensor* tensor) {
  float first = 0;
  htone_tensor* part = NULL;
  assert_ok(htone_slice(tensor, 0, 0, 1, 1, &part));
  assert_ok(htone_tensor_read(part, HTONE_F32, &first, sizeof first));
  assert_ok(htone_tensor_release(part));
  return first;
}

static void a12_tensors_of_two_devices_do_not_mix(void** state) {
  (void)state;
  htone_device* stub = make_stub();
  htone_tensor *here = make_ramp(HTONE_F32, 1, 3), *there = kept_filled(stub, 3, 5), *out = NULL;
  assert_fails(htone_add(here, there, &out), HTONE_ERROR_DEVICE, "b");
  assert_fails(htone_add(there, here, &out), HTONE_ERROR_DEVICE, "b");
  assert_null(out);
  /* this context has not loaded the plugin */
  assert_fails(htone_device_create(test_context(), "fake", &stub), HTONE_ERROR_DEVICE, "name");
  assert_values(apply2(htone_add, here, here), 0, 0, 2, 4);
  assert_near(first_of(apply2(htone_add, there, there)), 10, 0);
}

static void the_devices_of_a_plugin_are_listed_behind_the_cpu(void** state) {
  (void)state;
  htone_context* context = make_context(1, 0);
  htone_device_info info = HTONE_DEVICE_INFO_INIT;
  htone_device* device = NULL;
  size_t count = 0;
  assert_ok(htone_context_load_plugin(context, FAKE_PLUGIN));
  assert_ok(htone_context_device_count(context, &count));
  assert_int_equal(count, 2);
  assert_ok(htone_context_device_info(context, 1, &info));
  assert_string_equal(info.name, "fake:0");
  assert_int_equal(info.type, HTONE_DEVICE_OTHER);
  assert_ok(htone_device_create(context, info.name, &device));
  keep_device(device);
  assert_fails(htone_device_create(context, "gpu:0", &device), HTONE_ERROR_DEVICE, "there are cpu, fake:0");
}

/* Sizes for slabs, for pages and for separate segments. The sum of each pair is computed and released. */
static htone_status run_script(htone_device* device, htone_tensor** tensors) {
  static const int64_t counts[kScriptTensors] = {10, 3000, kMiB, 100, 700000, 2 * kMiB};
  htone_status status = HTONE_OK;
  for (int i = 0; i < kScriptTensors && status == HTONE_OK; ++i) {
    htone_tensor* sum = NULL;
    status = filled(device, counts[i], i + 1, &tensors[i]);
    if (status == HTONE_OK) status = htone_add(tensors[i], tensors[i], &sum);
    htone_tensor_release(sum);
  }
  return status;
}

/* Tensors from before a failure keep their values and are released. */
static void drop_script(htone_tensor** tensors) {
  for (int i = 0; i < kScriptTensors && tensors[i] != NULL; ++i) {
    assert_near(first_of(tensors[i]), i + 1, 0);
    assert_ok(htone_tensor_release(tensors[i]));
    tensors[i] = NULL;
  }
}

static void expect_script_to_survive(htone_device* device, int64_t request, int for_ever) {
  htone_tensor* tensors[kScriptTensors] = {NULL};
  set_memory(SIZE_MAX, request, for_ever);
  const htone_status status = run_script(device, tensors);
  const int reached = memory_requests() > request;
  if (for_ever && reached) {
    assert_fails(status, HTONE_ERROR_OUT_OF_MEMORY, "free among these");
  } else {
    assert_int_equal(status, HTONE_OK); /* one retry makes up for one failure */
  }
  drop_script(tensors);
  set_memory(SIZE_MAX, -1, 0);
  assert_int_equal(run_script(device, tensors), HTONE_OK);
  drop_script(tensors);
  assert_ok(htone_device_release_cached(device));
}

static void m3_any_request_to_a_device_may_fail(void** state) {
  (void)state;
  htone_device* stub = make_stub();
  htone_tensor* tensors[kScriptTensors] = {NULL};
  set_memory(SIZE_MAX, -1, 0);
  assert_int_equal(run_script(stub, tensors), HTONE_OK);
  const int64_t requests = memory_requests();
  assert_true(requests >= 4);
  drop_script(tensors);
  assert_ok(htone_device_release_cached(stub));
  for (int64_t request = 0; request <= requests; ++request) {
    expect_script_to_survive(stub, request, 0);
    expect_script_to_survive(stub, request, 1);
  }
}

static void m3_cached_memory_gives_way_before_a_request_fails(void** state) {
  (void)state;
  htone_device* stub = make_stub();
  htone_tensor* small = NULL;
  set_memory(8 * kMiB, -1, 0);
  assert_ok(filled(stub, kMiB, 1, &small)); /* 4 MiB */
  assert_ok(htone_tensor_release(small));
  htone_tensor* large = kept_filled(stub, 3 * kMiB / 2, 2); /* 6 MiB: enough room after the cached 4 MiB are released */
  assert_true(memory_requests() == 3);
  htone_tensor* refused = NULL;
  assert_fails(filled(stub, kMiB, 3, &refused), HTONE_ERROR_OUT_OF_MEMORY, "requested 4194304 bytes");
  assert_null(refused);
  assert_true(memory_requests() == 5);
  assert_near(first_of(large), 2, 0);
}

static void m3_memory_in_pieces_is_told_from_memory_in_use(void** state) {
  (void)state;
  enum { kPieces = 32, kPiece = 65536 / 4 };
  htone_device* stub = make_stub();
  htone_tensor *pieces[kPieces], *refused = NULL;
  set_memory(2 * kMiB, -1, 0);
  for (int i = 0; i < kPieces; ++i) assert_ok(filled(stub, kPiece, i, &pieces[i]));
  for (int i = 0; i < kPieces; i += 2) assert_ok(htone_tensor_release(pieces[i]));
  assert_fails(filled(stub, 2 * kPiece, 1, &refused), HTONE_ERROR_OUT_OF_MEMORY,
               "requested 131072 bytes, current 1048576, reserved 2097152, free among these 1048576");
  assert_null(refused);
  for (int i = 1; i < kPieces; i += 2) assert_ok(htone_tensor_release(pieces[i]));
  kept_filled(stub, 2 * kPiece, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_devices_of_a_plugin_are_listed_behind_the_cpu),
      cmocka_unit_test(a12_tensors_of_two_devices_do_not_mix),
      cmocka_unit_test(m3_any_request_to_a_device_may_fail),
      cmocka_unit_test(m3_cached_memory_gives_way_before_a_request_fails),
      cmocka_unit_test(m3_memory_in_pieces_is_told_from_memory_in_use),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
