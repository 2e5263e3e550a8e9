/* Stores through the C API, and a group over a store of the caller's. */
#include <pthread.h>
#include <string.h>

#include "run_tests.h"

static htone_store* memory_store(void) {
  htone_store* store = NULL;
  assert_ok(htone_store_create_memory(test_context(), &store));
  return keep_store(store);
}

static void a_value_is_read_as_it_was_set(void** state) {
  (void)state;
  htone_store* store = memory_store();
  char value[8];
  size_t size = 0;
  int32_t existed = -1;
  assert_ok(htone_store_set(store, "name", "abcdefg", 8));
  assert_ok(htone_store_get(store, "name", 0, value, sizeof value, &size));
  assert_int_equal(size, 8);
  assert_string_equal(value, "abcdefg");
  assert_fails(htone_store_get(store, "name", 0, value, 7, &size), HTONE_ERROR_BUFFER_TOO_SMALL, "name");
  assert_int_equal(size, 8);
  assert_ok(htone_store_set(store, "name", NULL, 0));
  assert_ok(htone_store_get(store, "name", 0, NULL, 0, &size));
  assert_int_equal(size, 0);
  assert_ok(htone_store_remove(store, "name", &existed));
  assert_int_equal(existed, 1);
  assert_ok(htone_store_remove(store, "name", &existed));
  assert_int_equal(existed, 0);
  assert_fails(htone_store_get(store, "name", 0.02, value, sizeof value, &size), HTONE_ERROR_TIMEOUT, "name");
}

static void a_counter_adds(void** state) {
  (void)state;
  htone_store* store = memory_store();
  int64_t sum = 0;
  assert_ok(htone_store_add(store, "runs", 5, &sum));
  assert_ok(htone_store_add(store, "runs", -7, &sum));
  assert_int_equal(sum, -2);
  assert_ok(htone_store_set(store, "text", "word", 4));
  assert_fails(htone_store_add(store, "text", 1, &sum), HTONE_ERROR_INVALID_ARGUMENT, "text");
}

/* A store of the caller's, which hands everything to one of the library's and counts. */
typedef struct Wrapped {
  htone_store* store;
  int fails;
  int destroyed;
  pthread_mutex_t mutex;
} Wrapped;

static htone_status wrapped_set(void* user, const char* key, const void* data, size_t size) {
  Wrapped* wrapped = user;
  return wrapped->fails ? htone_error_set(HTONE_ERROR_IO, "the disk is full")
                        : htone_store_set(wrapped->store, key, data, size);
}
static htone_status wrapped_get(void* user, const char* key, double timeout_seconds, void* out, size_t capacity,
                                size_t* out_size) {
  Wrapped* wrapped = user;
  return htone_store_get(wrapped->store, key, timeout_seconds, out, capacity, out_size);
}
static htone_status wrapped_add(void* user, const char* key, int64_t amount, int64_t* out_sum) {
  Wrapped* wrapped = user;
  return htone_store_add(wrapped->store, key, amount, out_sum);
}
static htone_status wrapped_remove(void* user, const char* key, int32_t* out_existed) {
  Wrapped* wrapped = user;
  return htone_store_remove(wrapped->store, key, out_existed);
}
static htone_status wrapped_compare_set(void* user, const char* key, const void* expected, size_t expected_size,
                                        const void* desired, size_t desired_size, int32_t* out_swapped) {
  Wrapped* wrapped = user;
  char value[256];
  size_t size = 0;
  pthread_mutex_lock(&wrapped->mutex);
  const htone_status found = htone_store_get(wrapped->store, key, 0, value, sizeof value, &size);
  const int is_equal = expected == NULL
                           ? found == HTONE_ERROR_TIMEOUT
                           : found == HTONE_OK && size == expected_size && memcmp(value, expected, size) == 0;
  *out_swapped = is_equal;
  htone_status status = HTONE_OK;
  int32_t existed = 0;
  if (is_equal && desired == NULL) status = htone_store_remove(wrapped->store, key, &existed);
  if (is_equal && desired != NULL) status = htone_store_set(wrapped->store, key, desired, desired_size);
  pthread_mutex_unlock(&wrapped->mutex);
  return status;
}
static void count_destroyed(void* user) { ++((Wrapped*)user)->destroyed; }

static htone_store* wrapped_store(Wrapped* wrapped) {
  htone_store_functions functions = HTONE_STORE_FUNCTIONS_INIT;
  functions.user = wrapped;
  functions.set = wrapped_set;
  functions.get = wrapped_get;
  functions.add = wrapped_add;
  functions.compare_set = wrapped_compare_set;
  functions.remove = wrapped_remove;
  htone_store* store = NULL;
  assert_ok(htone_store_create_callback(test_context(), &functions, count_destroyed, &store));
  return store;
}

static void a_store_of_the_callers_is_called_and_destroyed_once(void** state) {
  (void)state;
  Wrapped wrapped = {.store = memory_store(), .mutex = PTHREAD_MUTEX_INITIALIZER};
  htone_store* store = wrapped_store(&wrapped);
  char value[4];
  size_t size = 0;
  int64_t sum = 0;
  assert_ok(htone_store_set(store, "a", "xyz", 4));
  assert_ok(htone_store_get(wrapped.store, "a", 0, value, sizeof value, &size));
  assert_string_equal(value, "xyz");
  assert_ok(htone_store_add(store, "n", 4, &sum));
  assert_int_equal(sum, 4);
  assert_fails(htone_store_get(store, "b", 0.01, value, sizeof value, &size), HTONE_ERROR_TIMEOUT, "b");
  wrapped.fails = 1;
  assert_fails(htone_store_set(store, "a", "xyz", 4), HTONE_ERROR_CALLBACK,
               "the store's function set returned 11 (IO) for \"a\": the disk is full");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  htone_group* group = NULL;
  htone_group_options options = HTONE_GROUP_OPTIONS_INIT;
  assert_ok(htone_group_create(test_device(), "threads", store, &options, &group));
  assert_ok(htone_store_release(store));
  assert_int_equal(wrapped.destroyed, 0); /* the group keeps it */
  assert_ok(htone_group_barrier(group, NULL));
  assert_ok(htone_group_release(group));
  assert_int_equal(wrapped.destroyed, 1);
}

static void a_store_that_is_not_made_does_not_destroy(void** state) {
  (void)state;
  Wrapped wrapped = {.store = memory_store(), .mutex = PTHREAD_MUTEX_INITIALIZER};
  htone_store_functions functions = HTONE_STORE_FUNCTIONS_INIT;
  functions.user = &wrapped;
  htone_store* store = NULL;
  assert_fails(htone_store_create_callback(test_context(), &functions, count_destroyed, &store),
               HTONE_ERROR_INVALID_ARGUMENT, "functions.set is NULL");
  assert_int_equal(wrapped.destroyed, 0);
}

static void a_network_needs_a_secret(void** state) {
  (void)state;
  htone_store* store = NULL;
  assert_fails(htone_store_create_tcp(test_context(), "192.0.2.1:29500", NULL, NULL, &store),
               HTONE_ERROR_INVALID_ARGUMENT, "secret is NULL");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_value_is_read_as_it_was_set),
      cmocka_unit_test(a_counter_adds),
      cmocka_unit_test(a_store_of_the_callers_is_called_and_destroyed_once),
      cmocka_unit_test(a_store_that_is_not_made_does_not_destroy),
      cmocka_unit_test(a_network_needs_a_secret),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
