/* Which calls a program can interrupt, who is asked, and what goes on after it. memory_faults_test.c interrupts a
 * training run at every place. */
#include <pthread.h>
#include <semaphore.h>

#include "test_tensors.h"
#include "thread_ranks.h"

static volatile int32_t flag;

typedef struct Asked {
  int count;
  int destroyed;
  htone_status answer;
  htone_tensor* x;
  htone_status inner; /* of a call that the callback makes */
  pthread_t thread;
} Asked;

static htone_status ask(void* user) {
  Asked* asked = user;
  htone_tensor* y = NULL;
  ++asked->count;
  asked->thread = pthread_self();
  if (asked->x != NULL) asked->inner = htone_exp(asked->x, &y);
  htone_tensor_release(y);
  if (asked->answer != HTONE_OK) flag = 0;
  return asked->answer;
}

static void count_destroyed(void* user) { ++((Asked*)user)->destroyed; }

static int end_interrupts(void** state) {
  (void)state;
  flag = 0;
  return htone_interrupt_set_callback(NULL, NULL, NULL, NULL) == HTONE_OK ? 0 : 1;
}

static void without_a_callback_the_number_alone_ends_calls(void** state) {
  (void)state;
  htone_tensor* x = make_scalar(HTONE_F32, 0);
  assert_ok(htone_interrupt_set_callback(&flag, NULL, NULL, NULL));
  assert_values(apply1(htone_exp, x), 0, 1);
  flag = 1;
  assert_refuses(htone_exp(x, &out), CANCELLED, "the program has interrupted the call");
  int64_t numel = 0;
  assert_ok(htone_tensor_numel(x, &numel)); /* makes no tensor */
  flag = 0;
  assert_values(apply1(htone_exp, x), 0, 1);
}

static void the_callback_decides_on_the_thread_of_the_call(void** state) {
  (void)state;
  htone_tensor* x = make_scalar(HTONE_F32, 0);
  Asked asked = {.answer = HTONE_OK, .x = x, .inner = HTONE_ERROR_INTERNAL};
  assert_ok(htone_interrupt_set_callback(&flag, ask, &asked, count_destroyed));
  flag = 1;
  assert_values(apply1(htone_exp, x), 0, 1);
  assert_true(asked.count > 0);
  assert_true(pthread_equal(asked.thread, pthread_self()));
  assert_int_equal(asked.inner, HTONE_OK); /* a call in the callback goes on, and asks no one */
  asked.answer = HTONE_ERROR_STATE;
  assert_refuses(htone_exp(x, &out), CANCELLED, "");
  assert_values(apply1(htone_exp, x), 0, 1); /* the callback has set the number to 0 */
  assert_int_equal(asked.destroyed, 0);
  assert_ok(htone_interrupt_set_callback(NULL, NULL, NULL, NULL));
  assert_int_equal(asked.destroyed, 1);
}

static void a_wait_for_a_key_ends(void** state) {
  (void)state;
  Asked asked = {.answer = HTONE_ERROR_CANCELLED};
  htone_store* store = NULL;
  char value[8];
  size_t size = 0;
  assert_ok(htone_store_create_memory(test_context(), &store));
  keep_store(store);
  assert_ok(htone_interrupt_set_callback(&flag, ask, &asked, NULL));
  flag = 1;
  assert_fails(htone_store_get(store, "never", 3600, value, sizeof value, &size), HTONE_ERROR_CANCELLED, "interrupted");
  assert_fails(htone_store_get(store, "never", 0, value, sizeof value, &size), HTONE_ERROR_TIMEOUT, "never");
}

/* Rank 1 sends only after rank 0 was interrupted, and makes no tensor meanwhile. */
static sem_t is_ready, is_interrupted;

static htone_status end_once(void* user) {
  (void)user;
  flag = 0;
  return HTONE_ERROR_CANCELLED;
}

static void receive_late(ThreadRank* rank) {
  const int64_t one = 1;
  float value = rank->number == 0 ? 7 : 9;
  htone_tensor* tensor = NULL;
  REQUIRE_OK(htone_tensor_create(rank->device, HTONE_F32, 1, &one, &tensor));
  REQUIRE_OK(htone_tensor_write(tensor, HTONE_F32, &value, sizeof value));
  if (rank->number == 0) {
    htone_work* work = NULL;
    REQUIRE_OK(htone_group_receive(rank->group, 1, tensor, &work));
    REQUIRE(sem_wait(&is_ready) == 0);
    flag = 1;
    REQUIRE(htone_work_wait(work) == HTONE_ERROR_CANCELLED);
    REQUIRE(sem_post(&is_interrupted) == 0);
    REQUIRE_OK(htone_work_wait(work));
    REQUIRE_OK(htone_tensor_read(tensor, HTONE_F32, &value, sizeof value));
    REQUIRE(value == 9);
    REQUIRE_OK(htone_work_release(work));
  } else {
    REQUIRE(sem_post(&is_ready) == 0);
    REQUIRE(sem_wait(&is_interrupted) == 0);
    REQUIRE_OK(htone_group_send(rank->group, 0, tensor, NULL));
  }
  REQUIRE_OK(htone_tensor_release(tensor));
}

static void a_wait_for_another_rank_ends_and_may_be_taken_up_again(void** state) {
  (void)state;
  assert_int_equal(sem_init(&is_ready, 0, 0) | sem_init(&is_interrupted, 0, 0), 0);
  assert_ok(htone_interrupt_set_callback(&flag, end_once, NULL, NULL));
  run_thread_ranks(2, receive_late);
  assert_int_equal(sem_destroy(&is_ready) | sem_destroy(&is_interrupted), 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(without_a_callback_the_number_alone_ends_calls, end_interrupts),
      cmocka_unit_test_teardown(the_callback_decides_on_the_thread_of_the_call, end_interrupts),
      cmocka_unit_test_teardown(a_wait_for_a_key_ends, end_interrupts),
      cmocka_unit_test_teardown(a_wait_for_another_rank_ends_and_may_be_taken_up_again, end_interrupts),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
