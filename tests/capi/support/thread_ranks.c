#include "thread_ranks.h"

#include <pthread.h>
#include <string.h>

#include "run_tests.h"

enum { kMostRanks = 8 };

typedef struct Start {
  ThreadRank rank;
  htone_store* store;
  void (*body)(ThreadRank* rank);
} Start;

static void* run_rank(void* argument) {
  const Start* start = argument;
  ThreadRank rank = start->rank;
  htone_context_options context_options = HTONE_CONTEXT_OPTIONS_INIT;
  context_options.num_threads = 1;
  context_options.seed = 5 + (uint64_t)rank.number;
  REQUIRE_OK(htone_context_create(&context_options, &rank.context));
  REQUIRE_OK(htone_device_create(rank.context, "cpu", &rank.device));
  htone_group_options options = HTONE_GROUP_OPTIONS_INIT;
  options.rank = rank.number;
  options.size = rank.size;
  options.timeout_seconds = 20;
  REQUIRE_OK(htone_group_create(rank.device, "threads", start->store, &options, &rank.group));
  REQUIRE_OK(htone_group_barrier(rank.group, NULL)); /* no rank leaves before all have come */
  start->body(&rank);
  REQUIRE_OK(htone_group_release(rank.group));
  REQUIRE_OK(htone_device_release(rank.device));
  REQUIRE_OK(htone_context_release(rank.context));
  return NULL;
}

void run_thread_ranks(int size, void (*body)(ThreadRank* rank)) {
  pthread_t threads[kMostRanks];
  Start starts[kMostRanks];
  htone_store* store = NULL;
  REQUIRE(size <= kMostRanks);
  assert_ok(htone_store_create_memory(test_context(), &store));
  for (int i = 0; i < size; ++i) {
    starts[i] = (Start){.rank = {.number = i, .size = size}, .store = store, .body = body};
    assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &starts[i]), 0);
  }
  for (int i = 0; i < size; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_ok(htone_store_release(store));
}

int last_error_says(const char* part) {
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  return strstr(info.message, part) != NULL;
}
