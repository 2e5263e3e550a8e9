/* Changes that a program may make to its own process: floating-point modes, fork, exit during a computation, calls from
 * a thread with a small stack. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "test_child.h"
#include "test_modules.h"

/* Large enough that the pool's threads take part. */
enum { kLarge = 400000 };

static htone_tensor* filled(double value) {
  const int64_t shape = kLarge;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, &shape, value, &tensor));
  return keep_tensor(tensor);
}

#if defined(__x86_64__)
enum { kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kMasks = 0x1f80, kFlags = 0x003f };

/* N7, H7 */
static void flushing_of_subnormals_by_the_host_does_not_matter_and_stays(void** state) {
  (void)state;
  skip_under_valgrind();
  const uint32_t modes = _mm_getcsr();
  htone_tensor *tiny = filled(1e-40), *doubled = NULL, *sum = NULL;
  _mm_setcsr(modes | kFlushToZero | kDenormalsAreZero);
  const htone_status added = htone_add(tiny, tiny, &doubled);
  const htone_status summed = htone_sum(tiny, 0, NULL, 0, &sum);
  const uint32_t after = _mm_getcsr();
  _mm_setcsr(modes);
  assert_ok(added);
  assert_ok(summed);
  keep_tensor(doubled);
  keep_tensor(sum);
  assert_int_equal(after & ~(uint32_t)kFlags, (modes | kFlushToZero | kDenormalsAreZero) & ~(uint32_t)kFlags);
  const double value = 2 * (double)1e-40f;
  assert_near(item_of(sum_of(slice_of(doubled, 0, kLarge - 1, kLarge, 1))), value, 0);
  assert_near(item_of(sum), kLarge * value / 2, kLarge * value * 1e-6);
}

/* H7 */
static void exceptions_unmasked_by_the_host_do_not_fire_inside(void** state) {
  (void)state;
  skip_under_valgrind();
  const uint32_t modes = _mm_getcsr();
  htone_tensor *zero = filled(0), *out = NULL;
  _mm_setcsr(modes & ~(uint32_t)(kMasks | kFlags));
  const htone_status status = htone_div(zero, zero, &out);
  const uint32_t after = _mm_getcsr();
  _mm_setcsr(modes);
  assert_ok(status);
  keep_tensor(out);
  assert_int_equal(after & kMasks, 0);
  assert_near(item_of(slice_of(out, 0, 0, 1, 1)), NAN, 0);
}
#else
static void flushing_of_subnormals_by_the_host_does_not_matter_and_stays(void** state) {
  (void)state;
  print_message("skipped: the modes are set through the x86-64 control register\n");
  skip();
}

static void exceptions_unmasked_by_the_host_do_not_fire_inside(void** state) {
  (void)state;
  print_message("skipped: the modes are set through the x86-64 control register\n");
  skip();
}
#endif

/* A forked child calls this instead of returning: it must not run the parent's tests or print the parent's buffers. */
static void compute_in_child(htone_tensor* ones) {
  htone_tensor *doubled = NULL, *sum = NULL;
  double value = 0;
  alarm(60);
  htone_status status = htone_add(ones, ones, &doubled);
  if (status == HTONE_OK) status = htone_sum(doubled, 0, NULL, 0, &sum);
  if (status == HTONE_OK) status = htone_tensor_item(sum, &value);
  _exit(status == HTONE_OK && value == 2.0 * kLarge ? 0 : 1);
}

static int exit_code_of(pid_t child) {
  int status = 0;
  assert_true(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) print_error("the child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* H3 */
static void a_forked_child_computes(void** state) {
  (void)state;
  htone_tensor* ones = filled(1);
  assert_near(item_of(sum_of(ones)), kLarge, 0); /* the pool's threads run now */
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) compute_in_child(ones);
    assert_int_equal(exit_code_of(child), 0);
    assert_near(item_of(sum_of(ones)), kLarge, 0);
  }
}

typedef struct Loop {
  htone_tensor* input;
  int stop;
  htone_status status;
} Loop;

static void* compute_until_stopped(void* argument) {
  Loop* loop = argument;
  while (!__atomic_load_n(&loop->stop, __ATOMIC_ACQUIRE) && loop->status == HTONE_OK) {
    htone_tensor* out = NULL;
    loop->status = htone_mul(loop->input, loop->input, &out);
    htone_tensor_release(out);
  }
  return NULL;
}

/* H3 */
static void a_child_forked_in_the_middle_of_work_computes(void** state) {
  (void)state;
  skip_under_valgrind();
  htone_tensor* ones = filled(1);
  Loop loop = {.input = filled(2)};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, compute_until_stopped, &loop), 0);
  int failures = 0;
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) compute_in_child(ones);
    failures += exit_code_of(child) != 0;
  }
  __atomic_store_n(&loop.stop, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  assert_int_equal(failures, 0);
  assert_int_equal(loop.status, HTONE_OK);
}

/* The child uses its own context, so it does not depend on the parent's threads. */
static void exit_in_the_middle_of_work(void) {
  static Loop loop; /* static: the thread outlives this frame */
  htone_context* context = NULL;
  htone_device* device = NULL;
  pthread_t thread;
  const int64_t shape = kLarge;
  alarm(60);
  if (htone_context_create(NULL, &context) != HTONE_OK || htone_device_create(context, "cpu", &device) != HTONE_OK ||
      htone_tensor_create_full(device, HTONE_F32, 1, &shape, 1, &loop.input) != HTONE_OK ||
      pthread_create(&thread, NULL, compute_until_stopped, &loop) != 0) {
    _exit(1);
  }
  usleep(50000);
  exit(42);
}

/* H5 */
static void a_process_may_exit_in_the_middle_of_work(void** state) {
  (void)state;
  skip_under_valgrind();
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) exit_in_the_middle_of_work();
  assert_int_equal(exit_code_of(child), 42);
}

static void* make_devices_until_stopped(void* argument) {
  Loop* loop = argument;
  while (!__atomic_load_n(&loop->stop, __ATOMIC_ACQUIRE) && loop->status == HTONE_OK) {
    htone_context* context = NULL;
    htone_device* device = NULL;
    loop->status = htone_context_create(NULL, &context);
    if (loop->status == HTONE_OK) loop->status = htone_device_create(context, "cpu", &device);
    htone_device_release(device);
    htone_context_release(context);
  }
  return NULL;
}

/* Runs in its own process, which the alarm ends if the two threads deadlock. */
static void fork_beside_new_devices(void) {
  Loop loop = {0};
  pthread_t thread;
  int failures = 0;
  alarm(30);
  if (pthread_create(&thread, NULL, make_devices_until_stopped, &loop) != 0) _exit(1);
  /* Also bounded by time: under a sanitizer one fork takes many milliseconds. */
  const time_t begin = time(NULL);
  for (int i = 0; i < 1500 && time(NULL) - begin < 8; ++i) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) _exit(0);
    failures += child < 0 || waitpid(child, &status, 0) != child || status != 0;
  }
  __atomic_store_n(&loop.stop, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  _exit(failures != 0 || loop.status != HTONE_OK);
}

static void forking_does_not_block_a_thread_that_makes_devices(void** state) {
  (void)state;
  skip_under_valgrind();
  const pid_t child = fork();
  if (child == 0) fork_beside_new_devices();
  assert_int_equal(exit_code_of(child), 0);
}

typedef struct SmallStack {
  htone_module* module;
  htone_tensor *input, *targets;
  htone_status status;
  double loss;
} SmallStack;

static void* train_on_small_stack(void* argument) {
  SmallStack* work = argument;
  htone_tensor *logits = NULL, *loss = NULL;
  work->status = htone_module_forward(work->module, work->input, NULL, &logits);
  if (work->status == HTONE_OK) work->status = htone_cross_entropy(logits, work->targets, NULL, &loss);
  if (work->status == HTONE_OK) work->status = htone_tensor_backward(loss, NULL, 0);
  if (work->status == HTONE_OK) work->status = htone_tensor_item(loss, &work->loss);
  htone_tensor_release(logits);
  htone_tensor_release(loss);
  return NULL;
}

/* H2 */
static void a_thread_with_64_kib_of_stack_trains(void** state) {
  (void)state;
  htone_module* relu = NULL;
  assert_ok(htone_module_create_relu(&relu));
  htone_module* layers[] = {make_linear(test_device(), 100, 200, 1), keep_module(relu),
                            make_linear(test_device(), 200, 10, 1)};
  SmallStack work = {.module = make_sequential(3, layers),
                     .input = make_noise(HTONE_F32, 1, 2, 64, 100),
                     .targets = cast_of(make_noise(HTONE_F32, 2, 1, 64), HTONE_I64)}; /* zeros */
  run_on_stack_of(64 * 1024, train_on_small_stack, &work);
  assert_int_equal(work.status, HTONE_OK);
  assert_true(work.loss > 1 && work.loss < 5);
  assert_shape(grad_of(weights_of(work.module, 0)), 200, 100);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(flushing_of_subnormals_by_the_host_does_not_matter_and_stays),
      cmocka_unit_test(exceptions_unmasked_by_the_host_do_not_fire_inside),
      cmocka_unit_test(a_forked_child_computes),
      cmocka_unit_test(a_child_forked_in_the_middle_of_work_computes),
      cmocka_unit_test(a_process_may_exit_in_the_middle_of_work),
      cmocka_unit_test(forking_does_not_block_a_thread_that_makes_devices),
      cmocka_unit_test(a_thread_with_64_kib_of_stack_trains),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
