/* Process groups through the C API, with ranks that are threads: each has a context of its own. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_tests.h"
#include "thread_ranks.h"

enum { kRanks = 3 };

static void run_ranks(void (*body)(ThreadRank* rank)) { run_thread_ranks(kRanks, body); }

static htone_tensor* numbers(ThreadRank* rank, int64_t count, const float* values) {
  htone_tensor* tensor = NULL;
  REQUIRE_OK(htone_tensor_create(rank->device, HTONE_F32, 1, &count, &tensor));
  REQUIRE_OK(htone_tensor_write(tensor, HTONE_F32, values, (size_t)count * sizeof *values));
  return tensor;
}

static void require_numbers(htone_tensor* tensor, size_t count, const float* expected) {
  float values[8];
  REQUIRE_OK(htone_tensor_read(tensor, HTONE_F32, values, count * sizeof *values));
  for (size_t i = 0; i < count; ++i) REQUIRE(values[i] == expected[i]);
}

static void reduce_and_gather(ThreadRank* rank) {
  const float r = (float)rank->number;
  htone_tensor* in = numbers(rank, 3, (float[]){1 + r, 10, -r});
  htone_tensor* out = numbers(rank, 3, (float[]){0, 0, 0});
  REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_SUM, in, out, NULL));
  require_numbers(out, 3, (float[]){6, 30, -3});
  REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_AVERAGE, in, out, NULL));
  require_numbers(out, 3, (float[]){2, 10, -1});
  REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_MIN, in, out, NULL));
  require_numbers(out, 3, (float[]){1, 10, -2});
  REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_MAX, in, out, NULL));
  require_numbers(out, 3, (float[]){3, 10, 0});
  htone_tensor* part = numbers(rank, 1, (float[]){0});
  REQUIRE_OK(htone_group_reduce_scatter(rank->group, HTONE_REDUCE_SUM, in, part, NULL));
  require_numbers(part, 1, (float[]){(float[]){6, 30, -3}[rank->number]});
  REQUIRE_OK(htone_group_all_gather(rank->group, part, out, NULL));
  require_numbers(out, 3, (float[]){6, 30, -3});
  htone_tensor* exchanged = numbers(rank, 3, (float[]){0, 0, 0});
  REQUIRE_OK(htone_group_all_to_all(rank->group, in, exchanged, NULL));
  require_numbers(exchanged, 3, (float[][3]){{1, 2, 3}, {10, 10, 10}, {0, -1, -2}}[rank->number]);
  REQUIRE_OK(htone_group_broadcast(rank->group, 1, in, NULL));
  require_numbers(in, 3, (float[]){2, 10, -1});
  htone_tensor_release(in);
  htone_tensor_release(out);
  htone_tensor_release(part);
  htone_tensor_release(exchanged);
}

static void every_operation_gives_its_result(void** state) {
  (void)state;
  run_ranks(reduce_and_gather);
}

static void pass_on(ThreadRank* rank) {
  const int next = (rank->number + 1) % kRanks, previous = (rank->number + kRanks - 1) % kRanks;
  htone_tensor* own = numbers(rank, 2, (float[]){(float)rank->number, 7});
  htone_tensor* other = numbers(rank, 2, (float[]){-1, -1});
  htone_work* sent = NULL;
  REQUIRE_OK(htone_group_send(rank->group, next, own, &sent));
  REQUIRE_OK(htone_group_receive(rank->group, previous, other, NULL));
  REQUIRE_OK(htone_work_wait(sent));
  require_numbers(other, 2, (float[]){(float)previous, 7});
  REQUIRE(htone_group_send(rank->group, rank->number, own, NULL) == HTONE_ERROR_INVALID_ARGUMENT);
  htone_work_release(sent);
  htone_tensor_release(own);
  htone_tensor_release(other);
}

static void messages_go_around_a_ring(void** state) {
  (void)state;
  run_ranks(pass_on);
}

/* Every rank sends twice to its successor and once to its predecessor, and lists what it receives first. */
static void exchange_in_a_batch(ThreadRank* rank) {
  const int32_t next = (rank->number + 1) % kRanks, previous = (rank->number + kRanks - 1) % kRanks;
  const int32_t receive = HTONE_DIRECTION_RECEIVE, send = HTONE_DIRECTION_SEND;
  const int32_t peers[] = {previous, previous, next, next, next, previous};
  const int32_t directions[] = {receive, receive, receive, send, send, send};
  const float r = (float)rank->number;
  htone_tensor* tensors[6];
  for (int i = 0; i < 6; ++i) tensors[i] = numbers(rank, 2, (float[]){r, (float)i});
  htone_work* work = NULL;
  REQUIRE_OK(htone_group_batch(rank->group, 6, peers, directions, tensors, &work));
  REQUIRE_OK(htone_work_wait(work));
  require_numbers(tensors[0], 2, (float[]){(float)previous, 3});
  require_numbers(tensors[1], 2, (float[]){(float)previous, 4});
  require_numbers(tensors[2], 2, (float[]){(float)next, 5});
  htone_work_release(work);
  REQUIRE_OK(htone_group_batch(rank->group, 0, NULL, NULL, NULL, NULL));
  for (int i = 0; i < 6; ++i) htone_tensor_release(tensors[i]);
}

static void a_batch_exchanges_tensors_in_any_order(void** state) {
  (void)state;
  run_ranks(exchange_in_a_batch);
}

static void refuse_batches(ThreadRank* rank) {
  const int32_t peer = (rank->number + 1) % kRanks, own = rank->number, outside = kRanks;
  const int32_t receive = HTONE_DIRECTION_RECEIVE, none = 0;
  htone_tensor* tensor = numbers(rank, 2, (float[]){1, 2});
  htone_group* group = rank->group;
  REQUIRE(htone_group_batch(group, 1, &own, &receive, &tensor, NULL) == HTONE_ERROR_INVALID_ARGUMENT);
  REQUIRE(last_error_says("peers=") && last_error_says("is this rank"));
  REQUIRE(htone_group_batch(group, 1, &outside, &receive, &tensor, NULL) == HTONE_ERROR_INVALID_ARGUMENT);
  REQUIRE(last_error_says("peers=3, expected 0 to 2"));
  REQUIRE(htone_group_batch(group, 1, &peer, &none, &tensor, NULL) == HTONE_ERROR_INVALID_ARGUMENT);
  REQUIRE(last_error_says("directions has 0, which is no htone_direction"));
  const int32_t peers[] = {peer, peer}, directions[] = {receive, HTONE_DIRECTION_SEND};
  htone_tensor* twice[] = {tensor, tensor};
  REQUIRE(htone_group_batch(group, 2, peers, directions, twice, NULL) == HTONE_ERROR_INVALID_ARGUMENT);
  REQUIRE(last_error_says("messages 0 and 1 of the batch overlap"));
  REQUIRE_OK(htone_tensor_set_requires_grad(tensor, 1));
  REQUIRE(htone_group_batch(group, 1, &peer, &receive, &tensor, NULL) == HTONE_ERROR_STATE);
  htone_tensor_release(tensor);
}

static void a_wrong_batch_is_refused_before_it_starts(void** state) {
  (void)state;
  run_ranks(refuse_batches);
}

static void run_beside(ThreadRank* rank) {
  htone_tensor* tensors[4];
  htone_work* works[4];
  for (int i = 0; i < 4; ++i) {
    tensors[i] = numbers(rank, 1, (float[]){(float)(i + rank->number)});
    REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_SUM, tensors[i], tensors[i], &works[i]));
  }
  for (int i = 0; i < 4; ++i) {
    int32_t done = 0;
    REQUIRE_OK(htone_work_wait(works[i]));
    REQUIRE_OK(htone_work_is_done(works[i], &done));
    REQUIRE(done == 1);
    require_numbers(tensors[i], 1, (float[]){(float)(3 * i + 3)});
    htone_work_release(works[i]);
    htone_tensor_release(tensors[i]);
  }
  /* The last one is not kept: its tensor stays until it is done. */
  htone_tensor* dropped = numbers(rank, 1, (float[]){1});
  htone_work* work = NULL;
  REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_SUM, dropped, dropped, &work));
  htone_work_release(work);
  htone_tensor_release(dropped);
  REQUIRE_OK(htone_group_barrier(rank->group, NULL));
}

static void operations_run_beside_the_caller(void** state) {
  (void)state;
  run_ranks(run_beside);
}

static void disagree(ThreadRank* rank) {
  htone_tensor* tensor = numbers(rank, 3 + rank->number / 2, (float[]){1, 2, 3, 4});
  REQUIRE(htone_group_all_reduce(rank->group, HTONE_REDUCE_SUM, tensor, tensor, NULL) == HTONE_ERROR_COMM);
  REQUIRE(last_error_says("all_reduce of 3 f32 with sum"));
  REQUIRE(last_error_says("rank 2 called all_reduce of 4 f32 with sum"));
  REQUIRE(htone_group_barrier(rank->group, NULL) == HTONE_ERROR_COMM);
  char text[4096];
  size_t length = 0;
  REQUIRE_OK(htone_group_describe_operations(rank->group, text, sizeof text, &length));
  REQUIRE(strstr(text, "barrier: done") != NULL && strstr(text, "all_reduce") != NULL);
  htone_tensor_release(tensor);
}

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char log_text[16384];

static void keep_log(const char* message, void* user) {
  (void)user;
  pthread_mutex_lock(&log_mutex);
  const size_t used = strlen(log_text);
  snprintf(log_text + used, sizeof log_text - used, "%s\n", message);
  pthread_mutex_unlock(&log_mutex);
}

static void ranks_that_disagree_get_an_error_that_names_both(void** state) {
  (void)state;
  log_text[0] = '\0';
  assert_ok(htone_log_set_callback(keep_log, NULL, NULL));
  run_ranks(disagree);
  assert_ok(htone_log_set_callback(NULL, NULL, NULL));
  for (int rank = 0; rank < kRanks; ++rank) {
    char expected[64];
    snprintf(expected, sizeof expected, "rank %d: a group failed: ", rank);
    assert_non_null(strstr(log_text, expected));
    snprintf(expected, sizeof expected, "rank %d: 1 at ", rank);
    assert_non_null(strstr(log_text, expected));
  }
  assert_non_null(strstr(log_text, ": barrier: done after "));
  assert_non_null(strstr(log_text, "all_reduce of 4 f32 with sum: failed after "));
}

static void stop(ThreadRank* rank) {
  if (rank->number == 1) REQUIRE_OK(htone_group_abort(rank->group, "no more data"));
  REQUIRE(htone_group_barrier(rank->group, NULL) == HTONE_ERROR_PEER_LOST);
  REQUIRE(last_error_says("rank 1 aborted the group: no more data"));
}

static void an_abort_reaches_every_rank_with_its_reason(void** state) {
  (void)state;
  run_ranks(stop);
}

static void split_and_count(ThreadRank* rank) {
  htone_group* part = NULL;
  int32_t value = -1;
  REQUIRE_OK(htone_group_split(rank->group, rank->number == 1 ? -1 : 5, -rank->number, &part));
  REQUIRE((part == NULL) == (rank->number == 1));
  if (part != NULL) {
    REQUIRE_OK(htone_group_size(part, &value));
    REQUIRE(value == 2);
    REQUIRE_OK(htone_group_rank(part, &value));
    REQUIRE(value == (rank->number == 0 ? 1 : 0));
    htone_tensor* tensor = numbers(rank, 4, (float[]){1, 1, 1, 1});
    REQUIRE_OK(htone_group_all_reduce(part, HTONE_REDUCE_SUM, tensor, tensor, NULL));
    require_numbers(tensor, 4, (float[]){2, 2, 2, 2});
    htone_group_counters counters = HTONE_GROUP_COUNTERS_INIT;
    REQUIRE_OK(htone_group_read_counters(part, &counters));
    REQUIRE(counters.operations == 1 && counters.bytes_sent == 16 && counters.bytes_received == 16);
    htone_tensor_release(tensor);
  }
  char kind[16];
  size_t length = 0;
  REQUIRE_OK(htone_group_kind(rank->group, kind, sizeof kind, &length));
  REQUIRE(strcmp(kind, "threads") == 0);
  REQUIRE_OK(htone_group_release(part));
}

static void a_part_of_a_group_counts_its_own_bytes(void** state) {
  (void)state;
  run_ranks(split_and_count);
}

static void results_that_record_or_belong_elsewhere_are_refused(void** state) {
  (void)state;
  htone_group* group = NULL;
  htone_tensor *leaf = NULL, *elsewhere = NULL, *plain = NULL;
  const int64_t shape[] = {2};
  assert_ok(htone_group_create(test_device(), "single", NULL, NULL, &group));
  keep_group(group);
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, shape, 1, &leaf));
  keep_tensor(leaf);
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, shape, 1, &plain));
  keep_tensor(plain);
  assert_ok(htone_tensor_set_requires_grad(leaf, 1));
  assert_fails(htone_group_all_reduce(group, HTONE_REDUCE_SUM, plain, leaf, NULL), HTONE_ERROR_STATE,
               "out requires a gradient");
  assert_ok(htone_group_all_reduce(group, HTONE_REDUCE_SUM, leaf, plain, NULL));
  htone_device* other = make_device(make_context(1, 0));
  assert_ok(htone_tensor_create_full(other, HTONE_F32, 1, shape, 1, &elsewhere));
  keep_tensor(elsewhere);
  assert_fails(htone_group_broadcast(group, 0, elsewhere, NULL), HTONE_ERROR_INVALID_ARGUMENT, "another device");
}

static void ranks_outside_the_group_are_refused(void** state) {
  (void)state;
  const struct {
    int32_t rank, size;
    const char* part;
  } wrong[] = {{-1, 1, "options.rank=-1"},  {1, 1, "options.rank=1"},       {INT32_MIN, 1, "options.rank"},
               {0, 0, "options.size=0"},    {0, -1, "options.size=-1"},     {0, 4097, "options.size=4097"},
               {0, 2, "has 1 rank, not 2"}, {0, INT32_MAX, "options.size"}, {2, 2, "options.rank=2"}};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_group_options options = HTONE_GROUP_OPTIONS_INIT;
    htone_group* group = NULL;
    options.rank = wrong[i].rank;
    options.size = wrong[i].size;
    assert_fails(htone_group_create(test_device(), "single", NULL, &options, &group), HTONE_ERROR_INVALID_ARGUMENT,
                 wrong[i].part);
  }
}

/* As by mpirun, and without a launcher. */
static void a_launcher_tells_a_process_its_place(void** state) {
  (void)state;
  htone_launch launch = HTONE_LAUNCH_INIT;
  htone_group* group = NULL;
  htone_group_options options = HTONE_GROUP_OPTIONS_INIT;
  int32_t size = 0;
  options.size = 7; /* the run's counts */
  assert_ok(htone_launch_read(&launch));
  assert_int_equal(launch.size, 1);
  assert_string_equal(launch.launcher, "none");
  assert_ok(htone_group_create_launched(test_device(), &options, &group));
  assert_ok(htone_group_size(keep_group(group), &size));
  assert_int_equal(size, 1);
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  assert_ok(htone_launch_read(&launch));
  assert_int_equal(launch.rank, 1);
  assert_int_equal(launch.local_size, 2);
  assert_string_equal(launch.launcher, "mpirun");
  assert_fails(htone_group_create_launched(test_device(), NULL, &group), HTONE_ERROR_INVALID_ARGUMENT, "MASTER_PORT");
  setenv("OMPI_COMM_WORLD_RANK", "2", 1);
  assert_fails(htone_launch_read(&launch), HTONE_ERROR_INVALID_ARGUMENT, "OMPI_COMM_WORLD_RANK");
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("MASTER_ADDR", "192.0.2.1", 1);
  setenv("MASTER_PORT", "29500", 1);
  assert_fails(htone_group_create_launched(test_device(), NULL, &group), HTONE_ERROR_INVALID_ARGUMENT,
               "HALFTONE_SECRET");
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  unsetenv("MASTER_ADDR");
  unsetenv("MASTER_PORT");
}

/* The choice is the first of the algorithms with the smallest prediction. */
static void require_best(ThreadRank* rank, htone_collective operation, int64_t bytes) {
  htone_algorithm chosen = HTONE_ALGORITHM_MAX_ENUM, best = HTONE_ALGORITHM_DIRECT;
  double best_seconds = INFINITY;
  REQUIRE_OK(htone_group_algorithm(rank->group, operation, bytes, &chosen));
  for (int i = HTONE_ALGORITHM_DIRECT; i <= HTONE_ALGORITHM_RING; ++i) {
    double seconds = -1;
    REQUIRE_OK(htone_group_predict(rank->group, operation, (htone_algorithm)i, bytes, &seconds));
    REQUIRE(seconds >= 0);
    if (seconds < best_seconds) best = (htone_algorithm)i;
    if (seconds < best_seconds) best_seconds = seconds;
  }
  REQUIRE(chosen == best);
}

static void measure_and_predict(ThreadRank* rank) {
  htone_group* fresh = NULL;
  htone_link_cost cost = HTONE_LINK_COST_INIT;
  double seconds = 0, again = 0;
  htone_algorithm algorithm = HTONE_ALGORITHM_RING;
  REQUIRE_OK(htone_group_split(rank->group, 0, 0, &fresh));
  REQUIRE(htone_group_read_link_cost(fresh, &cost) == HTONE_ERROR_STATE);
  REQUIRE(htone_group_algorithm(fresh, HTONE_COLLECTIVE_BARRIER, 0, &algorithm) == HTONE_ERROR_STATE);
  REQUIRE_OK(htone_group_release(fresh));
  REQUIRE_OK(htone_group_read_link_cost(rank->group, &cost));
  REQUIRE(cost.size == kRanks && cost.message_seconds > 0 && cost.byte_seconds >= 0 && cost.is_shared == 1);
  for (int i = HTONE_COLLECTIVE_ALL_REDUCE; i <= HTONE_COLLECTIVE_BARRIER; ++i) {
    require_best(rank, (htone_collective)i, 8);
    require_best(rank, (htone_collective)i, 100000000);
  }
  REQUIRE(cost.next_seconds >= 0 && cost.next_seconds <= cost.message_seconds);
  REQUIRE_OK(htone_group_algorithm(rank->group, HTONE_COLLECTIVE_ALL_REDUCE, 100000000, &algorithm));
  REQUIRE(algorithm == HTONE_ALGORITHM_DIRECT);
  REQUIRE_OK(htone_group_predict(rank->group, HTONE_COLLECTIVE_ALL_REDUCE, algorithm, 8, &seconds));
  REQUIRE_OK(htone_comm_predict(&cost, HTONE_COLLECTIVE_ALL_REDUCE, algorithm, 8, &again));
  REQUIRE(fabs(again - seconds) < 1e-9 * seconds);
  REQUIRE_OK(htone_group_predict(rank->group, HTONE_COLLECTIVE_BARRIER, HTONE_ALGORITHM_RING, 0, &seconds));
  REQUIRE(isinf(seconds));
}

static void a_group_predicts_its_operations(void** state) {
  (void)state;
  run_ranks(measure_and_predict);
}

static void one_rank_takes_no_time(void** state) {
  (void)state;
  htone_group* group = NULL;
  double seconds = -1;
  htone_algorithm algorithm = HTONE_ALGORITHM_RING;
  assert_ok(htone_group_create(test_device(), "single", NULL, NULL, &group));
  assert_ok(htone_group_predict(group, HTONE_COLLECTIVE_ALL_REDUCE, HTONE_ALGORITHM_DIRECT, 8, &seconds));
  assert_true(seconds == 0);
  assert_ok(htone_group_algorithm(group, HTONE_COLLECTIVE_ALL_REDUCE, 8, &algorithm));
  assert_int_equal(algorithm, HTONE_ALGORITHM_DIRECT);
  assert_ok(htone_group_release(group));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operation_gives_its_result),
      cmocka_unit_test(messages_go_around_a_ring),
      cmocka_unit_test(a_batch_exchanges_tensors_in_any_order),
      cmocka_unit_test(a_wrong_batch_is_refused_before_it_starts),
      cmocka_unit_test(operations_run_beside_the_caller),
      cmocka_unit_test(ranks_that_disagree_get_an_error_that_names_both),
      cmocka_unit_test(an_abort_reaches_every_rank_with_its_reason),
      cmocka_unit_test(a_part_of_a_group_counts_its_own_bytes),
      cmocka_unit_test(ranks_outside_the_group_are_refused),
      cmocka_unit_test(a_group_predicts_its_operations),
      cmocka_unit_test(one_rank_takes_no_time),
      cmocka_unit_test(a_launcher_tells_a_process_its_place),
      cmocka_unit_test(results_that_record_or_belong_elsewhere_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
