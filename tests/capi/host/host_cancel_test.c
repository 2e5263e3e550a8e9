/* Cancellation of a thread (pthread_cancel) while it calls the library. A cancelled thread finishes its call; it ends
 * at the first cancellation point of its own code behind it. Row H15 of the fault catalogue. Each test runs in a child,
 * because a cancellation inside a call would abort the process.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test_child.h"
#include "test_io.h"
#include "test_modules.h"

static const char* folder;

/* The progress of the cancelled thread. */
typedef struct Work {
  htone_status status;
  int is_finished;
} Work;

static void try_to(Work* work, htone_status status) {
  if (work->status == HTONE_OK) work->status = status;
}

/* A cancellation point, in each function of the caller's that the library calls. */
static void log_and_test(const char* message, void* user) {
  (void)message, (void)user;
  pthread_testcancel();
}

static void destroy_and_test(void* user) {
  (void)user;
  pthread_testcancel();
}

static htone_status hook_and_test(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  pthread_testcancel();
  return HTONE_OK;
}

static htone_status schedule_and_test(int64_t position, double* out_factor, void* user) {
  (void)position, (void)user;
  *out_factor = 1;
  pthread_testcancel();
  return HTONE_OK;
}

static int64_t files_and_test(TestIo* io, const char* call) {
  (void)io, (void)call;
  pthread_testcancel();
  return 0;
}

typedef struct Objects {
  htone_context* context;
  htone_device* device;
  htone_module* module;
  htone_hook* hook;
  htone_schedule* schedule;
  htone_optimizer* optimizer;
  htone_checkpoint* checkpoint;
  htone_tensor *input, *output, *loss;
} Objects;

static void make_objects(Work* work, Objects* made, const htone_context_options* options) {
  const int64_t shape[2] = {256, 64};
  try_to(work, htone_log_set_callback(log_and_test, NULL, destroy_and_test));
  try_to(work, htone_context_create(options, &made->context));
  try_to(work, htone_device_create(made->context, "cpu", &made->device));
  try_to(work, htone_module_create_linear(made->device, 64, 64, NULL, &made->module));
  try_to(work, htone_module_add_forward_pre_hook(made->module, hook_and_test, NULL, destroy_and_test, &made->hook));
  try_to(work, htone_schedule_create_callback(schedule_and_test, NULL, destroy_and_test, &made->schedule));
  try_to(work,
         htone_optimizer_create(made->module, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &made->optimizer));
  try_to(work, htone_optimizer_set_schedule(made->optimizer, made->schedule));
  try_to(work, htone_checkpoint_create(made->context, folder, &made->checkpoint));
  try_to(work, htone_checkpoint_add_module(made->checkpoint, "model", made->module));
  try_to(work, htone_tensor_create_full(made->device, HTONE_F32, 2, shape, 1, &made->input));
}

static void train_and_save(Work* work, Objects* made) {
  int64_t step = 0;
  try_to(work, htone_module_forward(made->module, made->input, NULL, &made->output));
  try_to(work, htone_sum(made->output, 0, NULL, 0, &made->loss));
  try_to(work, htone_tensor_backward(made->loss, NULL, 0));
  try_to(work, htone_optimizer_step(made->optimizer));
  try_to(work, htone_checkpoint_save(made->checkpoint, 1));
  try_to(work, htone_checkpoint_load(made->checkpoint, &step));
  if (htone_context_load_plugin(made->context, "/nowhere/libnothing.so") != HTONE_ERROR_IO)
    work->status = HTONE_ERROR_INTERNAL;
}

static void release_all(Work* work, Objects* made) {
  try_to(work, htone_tensor_release(made->loss));
  try_to(work, htone_tensor_release(made->output));
  try_to(work, htone_tensor_release(made->input));
  try_to(work, htone_checkpoint_release(made->checkpoint));
  try_to(work, htone_optimizer_release(made->optimizer));
  try_to(work, htone_schedule_release(made->schedule));
  try_to(work, htone_hook_release(made->hook));
  try_to(work, htone_module_release(made->module));
  try_to(work, htone_device_release(made->device));
  try_to(work, htone_context_release(made->context)); /* joins the threads of the context */
  try_to(work, htone_log_set_callback(NULL, NULL, NULL));
}

static const htone_context_options* context_options;

/* The cancellation waits from before the first call on. */
static void* work_while_cancelled(void* argument) {
  Work* work = argument;
  Objects made = {0};
  pthread_cancel(pthread_self());
  make_objects(work, &made, context_options);
  train_and_save(work, &made);
  release_all(work, &made);
  work->is_finished = 1;
  pthread_testcancel();
  work->is_finished = 2;
  return NULL;
}

static int run_cancelled_thread(void* argument) {
  (void)argument;
  Work work = {HTONE_OK, 0};
  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, work_while_cancelled, &work) != 0 || pthread_join(thread, &result) != 0) return 1;
  if (work.status != HTONE_OK) return 2;
  if (work.is_finished != 1) return 3;
  return result == PTHREAD_CANCELED ? 0 : 4;
}

static void h15_a_cancelled_thread_finishes_its_calls(void** state) {
  (void)state;
  htone_context_options options;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = 3;
  context_options = &options;
  folder = test_folder();
  assert_int_equal(code_of_child(run_cancelled_thread, NULL), 0);
}

static void h15_a_cancelled_thread_finishes_the_callers_files(void** state) {
  (void)state;
  static TestIo io;
  htone_context_options options;
  begin_io(&io, files_and_test, NULL);
  assert_ok(htone_context_options_init(&options));
  options.io = &io.table;
  context_options = &options;
  folder = test_folder();
  assert_int_equal(code_of_child(run_cancelled_thread, NULL), 0);
}

/* The caller's own choice comes back, whether a function of the caller's changes it or not. */
static htone_status allow_cancellation(htone_module* module, const htone_forward_call* call, void* user) {
  int before = 0;
  (void)module, (void)call;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
  *(int*)user = before;
  return HTONE_OK;
}

static int state_after_forward(htone_module* module, htone_tensor* input, int before) {
  htone_tensor* output = NULL;
  int after = -1;
  pthread_setcancelstate(before, NULL);
  const htone_status status = htone_module_forward(module, input, NULL, &output);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &after);
  assert_ok(status);
  assert_ok(htone_tensor_release(output));
  return after;
}

static void h15_the_callers_choice_of_cancellation_comes_back(void** state) {
  (void)state;
  int seen = -1;
  htone_module* module = NULL;
  htone_hook* hook = NULL;
  htone_tensor* input = make_scalar(HTONE_F32, 1);
  assert_ok(htone_module_create_relu(&module));
  keep_module(module);
  assert_ok(htone_module_add_forward_pre_hook(module, allow_cancellation, &seen, NULL, &hook));
  keep_hook(hook);
  assert_int_equal(state_after_forward(module, input, PTHREAD_CANCEL_ENABLE), PTHREAD_CANCEL_ENABLE);
  assert_int_equal(seen, PTHREAD_CANCEL_DISABLE);
  assert_int_equal(state_after_forward(module, input, PTHREAD_CANCEL_DISABLE), PTHREAD_CANCEL_DISABLE);
  assert_int_equal(seen, PTHREAD_CANCEL_DISABLE);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(h15_a_cancelled_thread_finishes_its_calls),
      cmocka_unit_test(h15_a_cancelled_thread_finishes_the_callers_files),
      cmocka_unit_test(h15_the_callers_choice_of_cancellation_comes_back),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
