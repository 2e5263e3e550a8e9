/* Floating-point modes that the caller's functions leave behind. Every function that the library calls changes them:
 * the results keep their bits, each call returns with the modes that it was entered with, and the next function finds
 * the defaults. Row H7 of the fault catalogue.
 */
#define _GNU_SOURCE /* feenableexcept */
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/dlpack_standard.h"
#include "test_child.h"
#include "test_io.h"
#include "test_modules.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

static uint32_t modes_now(void) {
  uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3fu) << 16 | x87;
}

static void flush_subnormals(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
#else
static uint32_t modes_now(void) { return (uint32_t)fegetround(); }

static void flush_subnormals(void) {}
#endif

/* The functions that the library calls. */
enum {
  kAllocate,
  kDeallocate,
  kFiles,
  kTime,
  kLog,
  kLogDestroy,
  kPreHook,
  kHook,
  kGradientHook,
  kParameterHook,
  kHookDestroy,
  kForward,
  kForwardDestroy,
  kBackward,
  kBackwardDestroy,
  kSchedule,
  kScheduleDestroy,
  kDeleter,
  kLoanEnd,
  kKindCount
};

static int visits[kKindCount];
static int unclean_visits; /* a function found other modes than the defaults */
static int unclean_returns;
static uint32_t default_modes;
static int spoils;

static void visit(int kind) {
  ++visits[kind];
  unclean_visits += modes_now() != default_modes;
  if (!spoils) return;
  fesetround(FE_UPWARD);
  flush_subnormals();
}

/* The caller's modes are the defaults at every call. */
static void check_call(htone_status status, const char* call, int line) {
  unclean_returns += modes_now() != default_modes;
  fesetenv(FE_DFL_ENV);
  check_status(status, HTONE_OK, "", call, __FILE__, line);
}
#define CALL(call) check_call((call), #call, __LINE__)

static int kinds[kKindCount]; /* what `user` points into: its place tells the kind */

static void on_destroy(void* user) { visit((int)((int*)user - kinds)); }

static void* on_allocate(void* user, size_t size, size_t alignment) {
  void* memory = NULL;
  (void)user;
  visit(kAllocate);
  return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

static void on_deallocate(void* user, void* memory, size_t size) {
  (void)user, (void)size;
  visit(kDeallocate);
  free(memory);
}

static int64_t on_files(TestIo* io, const char* call) {
  (void)io, (void)call;
  visit(kFiles);
  return 0;
}

static int64_t on_time(void* user) {
  static int64_t now;
  (void)user;
  visit(kTime);
  return ++now;
}

static void on_log(const char* message, void* user) {
  (void)message, (void)user;
  visit(kLog);
}

static htone_status on_pre_hook(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  visit(kPreHook);
  return HTONE_OK;
}

static htone_status on_hook(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  visit(kHook);
  return HTONE_OK;
}

static htone_status on_gradient(htone_tensor* gradient, htone_tensor** out, void* user) {
  (void)gradient, (void)out, (void)user;
  visit(kGradientHook);
  return HTONE_OK;
}

static htone_status on_parameter(htone_parameter* parameter, void* user) {
  (void)parameter, (void)user;
  visit(kParameterHook);
  return HTONE_OK;
}

static htone_module* inner; /* what the custom module runs */

static htone_status on_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module, (void)user;
  const htone_status status = htone_module_forward(inner, input, NULL, out);
  visit(kForward);
  return status;
}

/* The backward of a function that passes its input on. */
static htone_status on_backward(const htone_backward_call* call, void* user) {
  (void)user;
  const htone_status status = htone_rescale(call->grad_outputs[0], 0.7, 0, &call->out_grad_inputs[0]);
  visit(kBackward);
  return status;
}

static htone_status on_schedule(int64_t position, double* out_factor, void* user) {
  (void)position, (void)user;
  *out_factor = 0.5;
  visit(kSchedule);
  return HTONE_OK;
}

static void on_loan_end(DLManagedTensor* managed) {
  (void)managed;
  visit(kLoanEnd);
}

enum { kSize = 64 };

/* Everything that a run of a step makes; made and released by calls that are checked. */
typedef struct Step {
  htone_context* context;
  htone_device* device;
  htone_module *linear, *custom;
  htone_hook* hooks[4];
  htone_function* function;
  htone_schedule* schedule;
  htone_optimizer* optimizer;
  htone_checkpoint* checkpoint;
} Step;

static TestIo files;

static void make_objects(Step* step) {
  htone_context_options options;
  const htone_allocator allocator = {sizeof allocator, 0, NULL, on_allocate, on_deallocate};
  const htone_clock clock = {sizeof clock, 0, NULL, on_time, on_time};
  begin_io(&files, on_files, NULL);
  CALL(htone_context_options_init(&options));
  options.num_threads = 2;
  options.seed = 5;
  options.allocator = &allocator;
  options.io = &files.table;
  options.clock = &clock;
  setenv("HALFTONE_NUM_THREADS", "many", 1); /* a warning, where the number of threads is not given */
  htone_context* warned = NULL;
  CALL(htone_context_create(NULL, &warned));
  CALL(htone_context_release(warned));
  unsetenv("HALFTONE_NUM_THREADS");
  CALL(htone_context_create(&options, &step->context));
  CALL(htone_device_create(step->context, "cpu", &step->device));
  CALL(htone_module_create_linear(step->device, kSize, kSize, NULL, &step->linear));
  CALL(htone_module_create_custom(on_forward, &kinds[kForwardDestroy], on_destroy, NULL, &step->custom));
}

static void hang_hooks(Step* step) {
  htone_parameter* weight = NULL;
  htone_tensor* leaf = NULL;
  CALL(htone_module_parameter(step->linear, 0, &weight));
  CALL(htone_parameter_tensor(weight, &leaf));
  CALL(htone_module_add_forward_pre_hook(step->linear, on_pre_hook, &kinds[kHookDestroy], on_destroy, &step->hooks[0]));
  CALL(htone_module_add_forward_hook(step->linear, on_hook, &kinds[kHookDestroy], on_destroy, &step->hooks[1]));
  CALL(htone_tensor_add_gradient_hook(leaf, on_gradient, &kinds[kHookDestroy], on_destroy, &step->hooks[2]));
  CALL(htone_parameter_add_post_accumulate_hook(weight, on_parameter, &kinds[kHookDestroy], on_destroy,
                                                &step->hooks[3]));
  CALL(htone_tensor_release(leaf));
  CALL(htone_parameter_release(weight));
}

static void make_training(Step* step) {
  htone_parameters* set = NULL;
  htone_optimizer_options options;
  CALL(htone_function_create("passes_on", on_backward, &kinds[kBackwardDestroy], on_destroy, &step->function));
  CALL(htone_schedule_create_callback(on_schedule, &kinds[kScheduleDestroy], on_destroy, &step->schedule));
  CALL(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  options.lr = 0.1;
  options.momentum = 0.9;
  CALL(htone_parameters_create_from_module(step->linear, &set));
  CALL(htone_optimizer_create_over(set, &options, &step->optimizer));
  CALL(htone_parameters_release(set));
  CALL(htone_optimizer_set_schedule(step->optimizer, step->schedule));
  CALL(htone_checkpoint_create(step->context, test_folder(), &step->checkpoint));
  CALL(htone_checkpoint_add_module(step->checkpoint, "model", step->linear));
  CALL(htone_checkpoint_add_optimizer(step->checkpoint, "optimizer", step->optimizer));
}

/* A tensor over memory of the caller's, by a deleter or by DLPack. */
static htone_tensor* borrow_input(Step* step, int by_dlpack) {
  static float values[kSize * kSize];
  static int64_t shape[2] = {kSize, kSize};
  static DLManagedTensor loan;
  htone_tensor* input = NULL;
  for (int i = 0; i < kSize * kSize; ++i) values[i] = (float)(i % 37 - 18) / 37;
  loan = (DLManagedTensor){
      .dl_tensor = {.data = values, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape},
      .deleter = on_loan_end};
  if (by_dlpack) {
    CALL(htone_tensor_from_dlpack(step->device, &loan, &input));
  } else {
    CALL(htone_tensor_from_buffer(step->device, HTONE_F32, 2, shape, values, on_destroy, &kinds[kDeleter], &input));
  }
  return input;
}

static void train(Step* step, int by_dlpack) {
  htone_tensor *input = borrow_input(step, by_dlpack), *hidden = NULL, *recorded = NULL, *loss = NULL;
  CALL(htone_module_forward(step->custom, input, NULL, &hidden));
  CALL(htone_function_record(step->function, 1, &hidden, 1, &hidden, 0, NULL, &recorded));
  CALL(htone_sum(recorded, 0, NULL, 0, &loss));
  CALL(htone_tensor_backward(loss, NULL, 0));
  CALL(htone_optimizer_step(step->optimizer));
  CALL(htone_optimizer_zero_grad(step->optimizer));
  CALL(htone_tensor_release(loss));
  CALL(htone_tensor_release(recorded));
  CALL(htone_tensor_release(hidden));
  CALL(htone_tensor_release(input));
}

static void release_all(Step* step) {
  CALL(htone_hook_remove(step->hooks[0]));
  for (int i = 0; i < 4; ++i) CALL(htone_hook_release(step->hooks[i]));
  CALL(htone_checkpoint_release(step->checkpoint));
  CALL(htone_optimizer_release(step->optimizer));
  CALL(htone_schedule_release(step->schedule));
  CALL(htone_function_release(step->function));
  CALL(htone_module_release(step->custom));
  CALL(htone_module_release(step->linear));
  CALL(htone_device_release(step->device));
  CALL(htone_context_release(step->context));
}

/* Two steps with a save and a load between them; the weights after it. */
static void run(int spoiling, float* weights) {
  Step step = {0};
  htone_parameter* weight = NULL;
  htone_tensor* values = NULL;
  int64_t loaded = 0;
  spoils = spoiling;
  CALL(htone_log_set_callback(on_log, &kinds[kLogDestroy], on_destroy));
  make_objects(&step);
  inner = step.linear;
  hang_hooks(&step);
  make_training(&step);
  train(&step, 0);
  CALL(htone_checkpoint_save(step.checkpoint, spoiling + 1));
  CALL(htone_checkpoint_load(step.checkpoint, &loaded));
  train(&step, 1);
  CALL(htone_module_parameter(step.linear, 0, &weight));
  CALL(htone_parameter_read(weight, HTONE_F32, &values));
  CALL(htone_tensor_read(values, HTONE_F32, weights, sizeof(float) * kSize * kSize));
  CALL(htone_tensor_release(values));
  CALL(htone_parameter_release(weight));
  release_all(&step);
  CALL(htone_log_set_callback(NULL, NULL, NULL));
}

static void h7_modes_that_a_function_of_the_callers_leaves_reach_nothing_else(void** state) {
  (void)state;
  skip_under_valgrind();
  static float expected[kSize * kSize], weights[kSize * kSize];
  default_modes = modes_now();
  run(0, expected);
  assert_true(unclean_visits == 0 && unclean_returns == 0);
  memset(visits, 0, sizeof visits);
  run(1, weights);
  for (int kind = 0; kind < kKindCount; ++kind) {
    if (visits[kind] == 0) print_error("no call of kind %d\n", kind);
    assert_true(visits[kind] > 0);
  }
  assert_int_equal(unclean_visits, 0);
  assert_int_equal(unclean_returns, 0);
  assert_memory_equal(weights, expected, sizeof weights);
}

#if defined(__x86_64__)
static htone_status unmask(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  feenableexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO);
  return HTONE_OK;
}

/* 3e38 * 1e30 overflows in the module, after the hook. */
static int overflow_after_a_hook(void* argument) {
  htone_module* module = argument;
  htone_hook* hook = NULL;
  htone_tensor *input = NULL, *output = NULL;
  const int64_t shape = kSize;
  if (htone_module_add_forward_pre_hook(module, unmask, NULL, NULL, &hook) != HTONE_OK) return 1;
  if (htone_tensor_create_full(test_device(), HTONE_F32, 1, &shape, 3e38, &input) != HTONE_OK) return 2;
  if (htone_module_forward(module, input, NULL, &output) != HTONE_OK) return 3;
  return fegetexcept() == 0 ? 0 : 4;
}

static void h7_exceptions_that_a_hook_unmasks_do_not_fire_inside(void** state) {
  (void)state;
  skip_under_valgrind();
  htone_module* module = NULL;
  assert_ok(htone_module_create_rescaling(1e30, 0, &module));
  keep_module(module);
  assert_int_equal(code_of_child(overflow_after_a_hook, module), 0);
}
#endif

static htone_status note_modes(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call;
  *(uint32_t*)user = modes_now();
  return HTONE_OK;
}

/* The x87's rounding is not the library's to set, so the control register of vectors is looked at alone. */
static void h7_a_function_of_the_callers_runs_in_the_default_modes(void** state) {
  (void)state;
  skip_under_valgrind();
  uint32_t seen = 0;
  htone_module* module = NULL;
  htone_hook* hook = NULL;
  htone_tensor *input = make_scalar(HTONE_F32, 1), *output = NULL;
  assert_ok(htone_module_create_relu(&module));
  keep_module(module);
  assert_ok(htone_module_add_forward_pre_hook(module, note_modes, &seen, NULL, &hook));
  keep_hook(hook);
  default_modes = modes_now();
  flush_subnormals();
  const uint32_t before = modes_now();
  const htone_status status = htone_module_forward(module, input, NULL, &output);
  const uint32_t after = modes_now();
  fesetenv(FE_DFL_ENV);
  assert_ok(status);
  keep_tensor(output);
  assert_true(after == before);
  assert_true(seen == default_modes);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(h7_modes_that_a_function_of_the_callers_leaves_reach_nothing_else),
#if defined(__x86_64__)
    cmocka_unit_test(h7_exceptions_that_a_hook_unmasks_do_not_fire_inside),
#endif
    cmocka_unit_test(h7_a_function_of_the_callers_runs_in_the_default_modes),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
