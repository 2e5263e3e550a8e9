/* Memory: counters, limits, and a caller's allocator that counts, fails and misaligns. */
#include <stdlib.h>

#include "test_tensors.h"

static htone_memory_stats stats_of(htone_device* device) {
  htone_memory_stats stats = {.struct_size = sizeof stats};
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats;
}

static htone_tensor* bytes_on(htone_device* device, int64_t size) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_U8, 1, &size, 1, &tensor));
  return tensor;
}

static void memory_counters_count_what_was_asked_for(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  const htone_memory_stats before = stats_of(device);
  assert_true(before.current == 0 && before.limit == 0);
  htone_tensor *large = bytes_on(device, 100001), *small = bytes_on(device, 10);
  assert_true(stats_of(device).current == 100011);
  assert_true(stats_of(device).allocations == before.allocations + 2);
  assert_ok(htone_tensor_release(large));
  htone_memory_stats stats = stats_of(device);
  assert_true(stats.current == 10 && stats.peak == 100011 && stats.reserved >= 100011);
  int64_t sum = 0;
  for (size_t i = 0; i < COUNT_OF(stats.by_category); ++i) sum += stats.by_category[i];
  assert_true(sum == stats.current);
  assert_ok(htone_device_reset_peak_memory(device));
  assert_true(stats_of(device).peak == 10);
  assert_ok(htone_tensor_release(bytes_on(device, 100001)));
  assert_true(stats_of(device).device_allocations == stats.device_allocations); /* served from the cache */
  assert_ok(htone_tensor_release(small));
  assert_ok(htone_device_release_cached(device));
  assert_true(stats_of(device).current == 0 && stats_of(device).reserved == 0);
}

static int64_t bytes_of(htone_device* device, htone_memory_category category) {
  return stats_of(device).by_category[category];
}

static void results_count_as_activations_where_they_are_recorded(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  const int64_t shape[] = {16, 16};
  htone_tensor *ones = NULL, *triangle = NULL, *mask = NULL, *weights = NULL, *view = NULL, *masked = NULL, *out = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1.0, &ones));
  assert_ok(htone_triu(ones, 1, &triangle));
  assert_ok(htone_cast(triangle, HTONE_BOOL, &mask));
  assert_true(bytes_of(device, HTONE_MEMORY_ACTIVATIONS) == 0);
  assert_true(bytes_of(device, HTONE_MEMORY_OTHER) == 2 * 1024 + 256);

  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1.0, &weights));
  assert_ok(htone_tensor_set_requires_grad(weights, 1));
  assert_ok(htone_transpose(weights, 0, 1, &view)); /* recorded, and no memory of its own */
  assert_true(bytes_of(device, HTONE_MEMORY_ACTIVATIONS) == 0);
  assert_ok(htone_masked_fill(view, mask, -1.0, &masked));
  assert_true(bytes_of(device, HTONE_MEMORY_ACTIVATIONS) == 1024);
  assert_ok(htone_softmax(masked, 1, &out));
  assert_true(bytes_of(device, HTONE_MEMORY_ACTIVATIONS) == 2 * 1024);
  assert_true(bytes_of(device, HTONE_MEMORY_OTHER) == 3 * 1024 + 256);
  htone_tensor* const all[] = {out, masked, view, weights, mask, triangle, ones};
  for (size_t i = 0; i < COUNT_OF(all); ++i) assert_ok(htone_tensor_release(all[i]));
  assert_true(bytes_of(device, HTONE_MEMORY_ACTIVATIONS) == 0 && bytes_of(device, HTONE_MEMORY_OTHER) == 0);
}

/* M4 */
static void a_request_beyond_the_limit_is_refused_and_leaves_all_as_it_was(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_tensor* first = keep_tensor(bytes_on(device, 1000));
  const htone_memory_stats before = stats_of(device);
  htone_tensor* refused = NULL;
  const int64_t size = 64 << 20;
  assert_ok(htone_device_set_memory_limit(device, before.reserved));
  assert_fails(htone_tensor_create(device, HTONE_U8, 1, &size, &refused), HTONE_ERROR_OUT_OF_MEMORY, "67108864");
  assert_null(refused);
  htone_memory_stats after = stats_of(device);
  assert_true(after.current == before.current && after.limit == before.reserved);
  assert_near(item_of(sum_of(first)), 1000, 0);
  assert_ok(htone_device_set_memory_limit(device, 0));
  keep_tensor(bytes_on(device, size));
}

/* A caller's allocator that counts, can fail the k-th request, and can return misaligned memory. */
typedef struct CountingAllocator {
  int64_t blocks, bytes, requests, failing_request;
  size_t offset;
} CountingAllocator;

static void* count_allocate(void* user, size_t size, size_t alignment) {
  CountingAllocator* counts = user;
  void* memory = NULL;
  if (__atomic_add_fetch(&counts->requests, 1, __ATOMIC_SEQ_CST) == counts->failing_request) return NULL;
  if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size + counts->offset) != 0) {
    return NULL;
  }
  __atomic_add_fetch(&counts->blocks, 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&counts->bytes, (int64_t)size, __ATOMIC_SEQ_CST);
  return (char*)memory + counts->offset;
}

static void count_deallocate(void* user, void* memory, size_t size) {
  CountingAllocator* counts = user;
  __atomic_sub_fetch(&counts->blocks, 1, __ATOMIC_SEQ_CST);
  __atomic_sub_fetch(&counts->bytes, (int64_t)size, __ATOMIC_SEQ_CST);
  free((char*)memory - counts->offset);
}

static htone_status counted_context(CountingAllocator* counts, htone_context** out) {
  const htone_allocator table = {sizeof table, 0, counts, count_allocate, count_deallocate};
  htone_context_options options;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = 2;
  options.allocator = &table; /* copied by the library, so it may go out of scope */
  return htone_context_create(&options, out);
}

/* Runs forward, loss and backward on the context; returns the first failure. */
static htone_status work(htone_context* context) {
  htone_device* device = NULL;
  htone_module* module = NULL;
  htone_tensor *input = NULL, *out = NULL, *loss = NULL;
  const int64_t shape[] = {300, 200};
  htone_status status = htone_device_create(context, "cpu", &device);
  if (status == HTONE_OK) status = htone_module_create_linear(device, 200, 300, NULL, &module);
  if (status == HTONE_OK) status = htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &input);
  if (status == HTONE_OK) status = htone_module_forward(module, input, NULL, &out);
  if (status == HTONE_OK) status = htone_sum(out, 0, NULL, 0, &loss);
  if (status == HTONE_OK) status = htone_tensor_backward(loss, NULL, 0);
  htone_tensor_release(loss);
  htone_tensor_release(out);
  htone_tensor_release(input);
  htone_module_release(module);
  htone_device_release(device);
  return status;
}

/* A6 */
static void the_hosts_allocator_gets_everything_back(void** state) {
  (void)state;
  CountingAllocator counts = {0};
  htone_context* context = NULL;
  assert_ok(counted_context(&counts, &context));
  assert_ok(work(context));
  assert_true(counts.requests > 0);
  assert_ok(htone_context_release(context));
  assert_true(counts.blocks == 0 && counts.bytes == 0);
}

/* M1 */
static void any_request_of_the_hosts_allocator_may_fail(void** state) {
  (void)state;
  CountingAllocator clean = {0};
  htone_context* context = NULL;
  assert_ok(counted_context(&clean, &context));
  assert_ok(work(context));
  assert_ok(htone_context_release(context));
  for (int64_t k = 1; k <= clean.requests; ++k) {
    CountingAllocator counts = {.failing_request = k};
    assert_ok(counted_context(&counts, &context));
    const htone_status status = work(context);
    assert_true(status == HTONE_OK || status == HTONE_ERROR_OUT_OF_MEMORY);
    assert_ok(work(context));
    assert_ok(htone_context_release(context));
    assert_true(counts.blocks == 0 && counts.bytes == 0);
  }
}

/* M10 */
static void misaligned_memory_of_the_hosts_allocator_is_refused(void** state) {
  (void)state;
  CountingAllocator counts = {.offset = 4};
  htone_context* context = NULL;
  assert_ok(counted_context(&counts, &context));
  assert_fails(work(context), HTONE_ERROR_INVALID_ARGUMENT, "allocator");
  assert_ok(htone_context_release(context));
  assert_true(counts.blocks == 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_counters_count_what_was_asked_for),
      cmocka_unit_test(results_count_as_activations_where_they_are_recorded),
      cmocka_unit_test(a_request_beyond_the_limit_is_refused_and_leaves_all_as_it_was),
      cmocka_unit_test(the_hosts_allocator_gets_everything_back),
      cmocka_unit_test(any_request_of_the_hosts_allocator_may_fail),
      cmocka_unit_test(misaligned_memory_of_the_hosts_allocator_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
