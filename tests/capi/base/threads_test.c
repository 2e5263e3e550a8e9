/* Thread safety of the interface: one context per thread, concurrent reads, retain and release at any time, errors per
 * thread. Also runs under ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "test_modules.h"

enum { kThreads = 8 };

typedef struct Worker {
  int number;
  htone_context* context;
  htone_device* device;
  htone_module* module;
  htone_tensor* tensor;
  htone_status status;
  double result;
} Worker;

/* Runs one worker on each of several threads and asserts that none failed. */
static void run_workers(Worker* workers, int count, void* (*function)(void*)) {
  pthread_t threads[16];
  for (int i = 0; i < count; ++i) {
    workers[i].number = i;
    assert_int_equal(pthread_create(&threads[i], NULL, function, &workers[i]), 0);
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i) assert_int_equal(workers[i].status, HTONE_OK);
}

static htone_status train_step(htone_module* module, htone_optimizer* optimizer, htone_tensor* input, double* loss) {
  htone_tensor *out = NULL, *square = NULL, *mean = NULL;
  htone_status status = htone_optimizer_zero_grad(optimizer);
  if (status == HTONE_OK) status = htone_module_forward(module, input, NULL, &out);
  if (status == HTONE_OK) status = htone_mul(out, out, &square);
  if (status == HTONE_OK) status = htone_mean(square, 0, NULL, 0, &mean);
  if (status == HTONE_OK) status = htone_tensor_backward(mean, NULL, 0);
  if (status == HTONE_OK) status = htone_optimizer_step(optimizer);
  if (status == HTONE_OK) status = htone_tensor_item(mean, loss);
  htone_tensor_release(out);
  htone_tensor_release(square);
  htone_tensor_release(mean);
  return status;
}

static void* train_in_own_context(void* argument) {
  Worker* worker = argument;
  htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_module* module = NULL;
  htone_optimizer* optimizer = NULL;
  htone_tensor* input = NULL;
  const int64_t shape[] = {64, 48};
  options.num_threads = 2;
  options.seed = 11;
  worker->status = htone_context_create(&options, &context);
  if (worker->status == HTONE_OK) worker->status = htone_device_create(context, "cpu", &device);
  if (worker->status == HTONE_OK) worker->status = htone_module_create_linear(device, 48, 96, NULL, &module);
  if (worker->status == HTONE_OK) worker->status = htone_optimizer_create(module, NULL, &optimizer);
  if (worker->status == HTONE_OK) worker->status = htone_tensor_create_full(device, HTONE_F32, 2, shape, 0.5, &input);
  for (int step = 0; step < 5 && worker->status == HTONE_OK; ++step) {
    worker->status = train_step(module, optimizer, input, &worker->result);
  }
  htone_tensor_release(input);
  htone_optimizer_release(optimizer);
  htone_module_release(module);
  htone_device_release(device);
  htone_context_release(context);
  return NULL;
}

static void threads_with_contexts_of_their_own_train_alike(void** state) {
  (void)state;
  Worker workers[kThreads] = {{0}};
  run_workers(workers, kThreads, train_in_own_context);
  for (int i = 1; i < kThreads; ++i) assert_near(workers[i].result, workers[0].result, 0);
}

/* Returns the loss after some steps on a new context. */
static double train_on_threads(int32_t num_threads) {
  htone_device* device = make_device(make_context(num_threads, 3));
  htone_module* module = make_linear(device, 200, 300, 1);
  htone_optimizer* optimizer = NULL;
  htone_tensor* input = NULL;
  const int64_t shape[] = {513, 200};
  double loss = 0;
  assert_ok(htone_optimizer_create(module, NULL, &optimizer));
  keep_optimizer(optimizer);
  assert_ok(htone_tensor_create(device, HTONE_F32, 2, shape, &input));
  assert_ok(htone_init_normal(keep_tensor(input), 0, 1));
  for (int step = 0; step < 5; ++step) assert_ok(train_step(module, optimizer, input, &loss));
  return loss;
}

static void results_do_not_depend_on_the_number_of_threads(void** state) {
  (void)state;
  const double alone = train_on_threads(1);
  assert_true(alone > 0);
  assert_near(train_on_threads(2), alone, 0);
  assert_near(train_on_threads(7), alone, 0);
}

static void* forward_many_times(void* argument) {
  Worker* worker = argument;
  for (int i = 0; i < 50 && worker->status == HTONE_OK; ++i) {
    htone_tensor *out = NULL, *sum = NULL;
    worker->status = htone_module_forward(worker->module, worker->tensor, NULL, &out);
    if (worker->status == HTONE_OK) worker->status = htone_sum(out, 0, NULL, 0, &sum);
    if (worker->status == HTONE_OK) worker->status = htone_tensor_item(sum, &worker->result);
    htone_tensor_release(out);
    htone_tensor_release(sum);
  }
  return NULL;
}

/* A22 */
static void many_threads_run_one_module(void** state) {
  (void)state;
  Worker workers[kThreads] = {{0}};
  htone_module* module = make_linear(test_device(), 96, 64, 1);
  htone_tensor* input = make_noise(HTONE_F32, 1, 2, 128, 96);
  for (int i = 0; i < kThreads; ++i) workers[i] = (Worker){.module = module, .tensor = input};
  run_workers(workers, kThreads, forward_many_times);
  const double alone = item_of(sum_of(forward(module, input)));
  for (int i = 0; i < kThreads; ++i) assert_near(workers[i].result, alone, 0);
}

static void* create_and_release(void* argument) {
  Worker* worker = argument;
  for (int i = 0; i < 1000 && worker->status == HTONE_OK; ++i) {
    const int64_t size = 1 + (i * 37 + worker->number * 101) % 5000;
    htone_tensor *tensor = NULL, *view = NULL;
    int64_t count = 0;
    worker->status = htone_tensor_create(worker->device, HTONE_F32, 1, &size, &tensor);
    if (worker->status == HTONE_OK) worker->status = htone_slice(tensor, 0, 0, size, 1, &view);
    if (worker->status == HTONE_OK) worker->status = htone_tensor_retain(tensor);
    if (worker->status == HTONE_OK) worker->status = htone_tensor_release(tensor);
    if (worker->status == HTONE_OK) worker->status = htone_tensor_release(tensor);
    if (htone_tensor_numel(tensor, &count) != HTONE_ERROR_INVALID_HANDLE) worker->status = HTONE_ERROR_INTERNAL;
    if (worker->status == HTONE_OK) worker->status = htone_tensor_numel(view, &count);
    if (count != size) worker->status = HTONE_ERROR_INTERNAL;
    htone_tensor_release(view);
  }
  return NULL;
}

/* A5, A22 */
static void a_storm_of_handles_leaves_none_behind(void** state) {
  (void)state;
  Worker workers[kThreads] = {{0}};
  const int64_t before = live_handles();
  for (int i = 0; i < kThreads; ++i) workers[i].device = test_device();
  run_workers(workers, kThreads, create_and_release);
  assert_int_equal(live_handles(), before);
}

static void* retain_and_release(void* argument) {
  Worker* worker = argument;
  for (int i = 0; i < 2000 && worker->status == HTONE_OK; ++i) {
    worker->status = htone_tensor_retain(worker->tensor);
    if (worker->status == HTONE_OK) worker->status = htone_tensor_release(worker->tensor);
  }
  if (worker->status == HTONE_OK)
    worker->status = htone_tensor_release(worker->tensor); /* the thread's own reference */
  return NULL;
}

/* A4 */
static void one_handle_is_retained_and_released_by_many(void** state) {
  (void)state;
  Worker workers[kThreads] = {{0}};
  const int64_t shape = 10;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create(test_device(), HTONE_F32, 1, &shape, &tensor));
  for (int i = 0; i < kThreads; ++i) {
    assert_ok(htone_tensor_retain(tensor));
    workers[i].tensor = tensor;
  }
  run_workers(workers, kThreads, retain_and_release);
  assert_ok(htone_tensor_release(tensor));
  assert_fails(htone_tensor_release(tensor), HTONE_ERROR_INVALID_HANDLE, "tensor");
}

/* Passes a dimension that encodes the thread's number; the thread's error message must contain it. */
static void* fail_in_own_way(void* argument) {
  Worker* worker = argument;
  for (int i = 0; i < 200 && worker->status == HTONE_OK; ++i) {
    char expected[32];
    htone_tensor* out = NULL;
    htone_error_info info = {.struct_size = sizeof info};
    snprintf(expected, sizeof expected, "%d", 1000 + worker->number);
    if (htone_softmax(worker->tensor, 1000 + worker->number, &out) != HTONE_ERROR_INVALID_ARGUMENT) {
      worker->status = HTONE_ERROR_INTERNAL;
    }
    htone_error_last(&info);
    if (info.status != HTONE_ERROR_INVALID_ARGUMENT || strstr(info.message, expected) == NULL)
      worker->status = HTONE_ERROR_INTERNAL;
  }
  return NULL;
}

static void every_thread_has_its_own_last_error(void** state) {
  (void)state;
  Worker workers[kThreads] = {{0}};
  htone_error_info info = {.struct_size = sizeof info};
  double value = 0;
  for (int i = 0; i < kThreads; ++i) workers[i].tensor = make_ramp(HTONE_F32, 1, 3);
  assert_int_equal(htone_tensor_item(workers[0].tensor, &value), HTONE_ERROR_SHAPE_MISMATCH);
  run_workers(workers, kThreads, fail_in_own_way);
  assert_ok(htone_error_last(&info));
  assert_int_equal(info.status, HTONE_ERROR_SHAPE_MISMATCH);
}

static void* new_thread_error(void* argument) {
  Worker* worker = argument;
  htone_error_info info = {.struct_size = sizeof info, .status = HTONE_ERROR_INTERNAL, .message = "#"};
  worker->status = htone_error_last(&info);
  if (info.status != HTONE_OK || strcmp(info.message, "no call of this thread has failed"))
    worker->status = HTONE_ERROR_INTERNAL;
  return NULL;
}

static void a_new_thread_has_no_error(void** state) {
  (void)state;
  Worker worker = {0};
  double value = 0;
  assert_int_equal(htone_tensor_item(NULL, &value), HTONE_ERROR_INVALID_HANDLE);
  run_workers(&worker, 1, new_thread_error);
}

static void* make_contexts(void* argument) {
  Worker* worker = argument;
  for (int i = 0; i < 64 && worker->status == HTONE_OK; ++i) {
    htone_context* context = NULL;
    htone_device* device = NULL;
    htone_tensor* tensor = NULL;
    const int64_t shape = 1 + i;
    worker->status = htone_context_create(NULL, &context);
    if (worker->status == HTONE_OK) worker->status = htone_device_create(context, "cpu", &device);
    htone_context_release(context);
    if (worker->status == HTONE_OK) {
      worker->status = htone_tensor_create_full(device, HTONE_BF16, 1, &shape, 1, &tensor);
    }
    htone_device_release(device);
    htone_tensor_release(tensor);
  }
  return NULL;
}

/* H14 */
static void a_thousand_contexts_come_and_go_on_16_threads(void** state) {
  (void)state;
  Worker workers[16] = {{0}};
  run_workers(workers, 16, make_contexts);
}

static void* release_tensor(void* argument) {
  Worker* worker = argument;
  worker->status = htone_tensor_release(worker->tensor);
  return NULL;
}

static void count_call(void* user) { ++*(int*)user; }

static void the_last_reference_may_go_on_any_thread(void** state) {
  (void)state;
  float values[3] = {1, 2, 3};
  const int64_t shape = 3;
  int deletions = 0;
  Worker worker = {0};
  assert_ok(
      htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, values, count_call, &deletions, &worker.tensor));
  run_workers(&worker, 1, release_tensor);
  assert_int_equal(deletions, 1);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_with_contexts_of_their_own_train_alike),
      cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
      cmocka_unit_test(many_threads_run_one_module),
      cmocka_unit_test(a_storm_of_handles_leaves_none_behind),
      cmocka_unit_test(one_handle_is_retained_and_released_by_many),
      cmocka_unit_test(every_thread_has_its_own_last_error),
      cmocka_unit_test(a_new_thread_has_no_error),
      cmocka_unit_test(a_thousand_contexts_come_and_go_on_16_threads),
      cmocka_unit_test(the_last_reference_may_go_on_any_thread),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
