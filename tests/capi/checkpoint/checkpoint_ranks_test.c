/* Checkpoints of the ranks of a group, which are threads here: each has a context of its own. State dicts of this
 * interface hold whole tensors, so rank 0 writes; trainer.SharedSave tests ranges. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_tests.h"

enum { kRanks = 3 };

typedef struct Rank {
  int number;
  const char* path; /* of the directory of checkpoints */
  htone_store* store;
  htone_context* context;
  htone_device* device;
  htone_group* group;
  htone_tensor* tensor; /* two numbers, a part of the checkpoint */
  htone_checkpoint* checkpoint;
  void (*body)(struct Rank* rank);
} Rank;

/* CMocka's assertions leave a test by longjmp, which only its own thread may do. */
#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      abort();                                                                      \
    }                                                                               \
  } while (0)
#define REQUIRE_OK(call) REQUIRE((call) == HTONE_OK)

static int last_error_says(const char* part) {
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  return strstr(info.message, part) != NULL;
}

static void join_group(Rank* rank) {
  htone_context_options context_options = HTONE_CONTEXT_OPTIONS_INIT;
  context_options.num_threads = 1;
  REQUIRE_OK(htone_context_create(&context_options, &rank->context));
  REQUIRE_OK(htone_device_create(rank->context, "cpu", &rank->device));
  htone_group_options options = HTONE_GROUP_OPTIONS_INIT;
  options.rank = rank->number;
  options.size = kRanks;
  options.timeout_seconds = 20;
  REQUIRE_OK(htone_group_create(rank->device, "threads", rank->store, &options, &rank->group));
  REQUIRE_OK(htone_group_barrier(rank->group, NULL)); /* no rank leaves before all have come */
}

static void open_checkpoint(Rank* rank) {
  const int64_t count = 2;
  htone_state_dict* state = NULL;
  REQUIRE_OK(htone_tensor_create(rank->device, HTONE_F32, 1, &count, &rank->tensor));
  REQUIRE_OK(htone_state_dict_create(&state));
  REQUIRE_OK(htone_state_dict_add(state, "numbers", rank->tensor));
  REQUIRE_OK(htone_checkpoint_create_shared(rank->context, rank->path, rank->group, &rank->checkpoint));
  REQUIRE_OK(htone_checkpoint_add_state_dict(rank->checkpoint, "state", state));
  REQUIRE_OK(htone_state_dict_release(state));
}

static void* run_rank(void* argument) {
  Rank* rank = argument;
  join_group(rank);
  open_checkpoint(rank);
  rank->body(rank);
  REQUIRE_OK(htone_checkpoint_release(rank->checkpoint));
  REQUIRE_OK(htone_tensor_release(rank->tensor));
  REQUIRE_OK(htone_group_release(rank->group));
  REQUIRE_OK(htone_device_release(rank->device));
  REQUIRE_OK(htone_context_release(rank->context));
  return NULL;
}

static void run_ranks(void (*body)(Rank* rank)) {
  pthread_t threads[kRanks];
  Rank ranks[kRanks];
  htone_store* store = NULL;
  char path[512];
  snprintf(path, sizeof path, "%s/run", test_folder());
  assert_ok(htone_store_create_memory(test_context(), &store));
  for (int i = 0; i < kRanks; ++i) {
    ranks[i] = (Rank){.number = i, .path = path, .store = store, .body = body};
    assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
  }
  for (int i = 0; i < kRanks; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_ok(htone_store_release(store));
}

static void write_numbers(Rank* rank, float first) {
  const float values[] = {first, -first};
  REQUIRE_OK(htone_tensor_write(rank->tensor, HTONE_F32, values, sizeof values));
}

static void require_numbers(Rank* rank, float first) {
  float values[2] = {0, 0};
  REQUIRE_OK(htone_tensor_read(rank->tensor, HTONE_F32, values, sizeof values));
  REQUIRE(values[0] == first && values[1] == -first);
}

static void save_and_load(Rank* rank) {
  int64_t step = 0;
  write_numbers(rank, 7);
  REQUIRE_OK(htone_checkpoint_save(rank->checkpoint, 7));
  write_numbers(rank, 1);
  REQUIRE_OK(htone_checkpoint_load(rank->checkpoint, &step));
  REQUIRE(step == 7);
  require_numbers(rank, 7);
}

static void all_ranks_save_and_load_together(void** state) {
  (void)state;
  run_ranks(save_and_load);
}

static void disagree(Rank* rank) {
  int64_t step = 0;
  write_numbers(rank, 3);
  REQUIRE_OK(htone_checkpoint_save(rank->checkpoint, 8));
  REQUIRE(htone_checkpoint_save(rank->checkpoint, rank->number == 2 ? 10 : 9) == HTONE_ERROR_COMM);
  REQUIRE(last_error_says("rank 0 saves step 9, rank 2 step 10"));
  REQUIRE(htone_checkpoint_save(rank->checkpoint, rank->number == 1 ? -1 : 9) == HTONE_ERROR_INVALID_ARGUMENT);
  REQUIRE(last_error_says(rank->number == 1 ? "step=-1" : "rank 1: step=-1"));
  write_numbers(rank, 4);
  REQUIRE_OK(htone_checkpoint_load(rank->checkpoint, &step));
  REQUIRE(step == 8);
  require_numbers(rank, 3);
  REQUIRE_OK(htone_checkpoint_save(rank->checkpoint, 9));
}

static void s9_an_error_of_one_rank_is_told_to_all_and_the_step_can_be_saved_again(void** state) {
  (void)state;
  run_ranks(disagree);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_ranks_save_and_load_together),
      cmocka_unit_test(s9_an_error_of_one_rank_is_told_to_all_and_the_step_can_be_saved_again),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
