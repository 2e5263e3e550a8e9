/* Any allocation of a training run may fail, by the caller's allocator or by operator new: P3, rows M1, M2, M7, M8. A
 * script makes a run, trains in FP16 with a loss scale, saves, loads and trains on; a layer over an activation follows
 * the run's model. For every k, the k-th allocation fails, either once or with all later ones. The call that meets the
 * failure returns OUT_OF_MEMORY and has changed nothing, the same call without the failure succeeds, and the run ends
 * bitwise equal to one that never failed. A failure does not count if the library makes up for it, by a retry or with
 * fewer threads.
 *
 * A program may interrupt a call wherever it makes a tensor: each of these places fails in the same way, with
 * CANCELLED.
 */
#include <stdio.h>
#include <stdlib.h>

#include "failing_allocator.h"
#include "sanitizers.h"
#include "test_child.h"
#include "test_run.h"
#include "test_tensors.h"

/* A prime, so every kind of allocation gets its turn. */
enum { kStride = HALFTONE_ANY_SANITIZER ? 7 : 1, kPoolStride = 7 };

enum { kMaxCalls = 128 };

static const RunKind kKind = {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw};

/* One pass through the script. A clean pass records the fingerprints that the others are compared with. */
typedef struct Trial {
  Run run;
  htone_checkpoint* checkpoint;
  htone_tensor* last_weight; /* of the layer after the model, which no optimizer changes */
  const char* folder;
  uint64_t* prints; /* the run's fingerprint before each call */
  int64_t bytes;    /* in use in the caller's allocator */
  int is_clean;
  int calls;
  int failures;
  const char* failed_call;
  htone_status code; /* of the failure */
} Trial;

/* Asks for the end of the k-th call that asks. */
static volatile int32_t interrupt_flag;
static int64_t asked, interrupted_at = -1;
static int is_in_call;

static htone_status answer(void* user) {
  (void)user;
  return is_in_call && asked++ == interrupted_at ? HTONE_ERROR_CANCELLED : HTONE_OK;
}

/* A partly built run has no fingerprint. */
static uint64_t print_of(const Trial* trial) { return trial->run.scaler != NULL ? fingerprint(&trial->run) : 0; }

static void begin_call(Trial* trial) {
  assert_true(trial->calls < kMaxCalls);
  if (trial->is_clean) trial->prints[trial->calls] = print_of(trial);
  watch_allocations();
  is_in_call = 1;
}

/* Returns 1 if the call succeeded. After a failure it checks that nothing has changed and turns further failures
 * off. */
static int end_call(Trial* trial, htone_status status, const char* call) {
  ignore_allocations();
  is_in_call = 0;
  const int index = trial->calls++;
  if (status == HTONE_OK) return 1;
  ++trial->failures;
  trial->failed_call = call;
  if (trial->is_clean || status != trial->code) check_status(status, HTONE_OK, "", call, __FILE__, __LINE__);
  if (print_of(trial) != trial->prints[index]) fail_msg("%s changed the run although it failed", call);
  fail_allocation(-1, 0);
  interrupted_at = -1;
  ignore_allocations();
  return 0;
}

#define ATTEMPT(trial, call)                                \
  do {                                                      \
    begin_call(trial);                                      \
    if (!end_call((trial), (call), #call)) assert_ok(call); \
  } while (0)

static htone_status make_run(Trial* trial) {
  const htone_allocator allocator = failing_allocator(&trial->bytes);
  htone_context_options options;
  htone_status status = htone_context_options_init(&options);
  options.num_threads = 2;
  options.seed = 7;
  options.allocator = &allocator;
  if (status == HTONE_OK) status = begin_run(&trial->run, &kKind, &options);
  if (status != HTONE_OK) end_run(&trial->run);
  return status;
}

static htone_status make_last_weight(Trial* trial) {
  enum { kOne = 0x3c00, kTwo = 0x4000 };
  static const uint16_t kValues[] = {kTwo, 0, kOne, kOne, kTwo, 0, 0, kOne, kTwo};
  const int64_t shape[] = {3, 3};
  htone_tensor** made = &trial->last_weight;
  htone_status status = htone_tensor_create_copy(trial->run.device, HTONE_F16, 2, shape, kValues, made);
  if (status == HTONE_OK) status = htone_tensor_set_requires_grad(*made, 1);
  if (status == HTONE_OK) return HTONE_OK;
  htone_tensor_release(*made);
  *made = NULL;
  return status;
}

static htone_tensor* scaled_loss(Trial* trial) {
  Run* run = &trial->run;
  htone_tensor *features = NULL, *labels = NULL, *hidden = NULL, *logits = NULL, *loss = NULL, *scaled = NULL;
  ATTEMPT(trial, htone_batches_tensor(run->batches, 0, &features));
  ATTEMPT(trial, htone_batches_tensor(run->batches, 1, &labels));
  ATTEMPT(trial, htone_module_forward(run->model, features, run->policy, &hidden));
  ATTEMPT(trial, htone_activation_linear(hidden, trial->last_weight, NULL, HTONE_ACTIVATION_GELU_TANH, &logits));
  ATTEMPT(trial, htone_cross_entropy(logits, labels, NULL, &loss));
  ATTEMPT(trial, htone_grad_scaler_scale(run->scaler, loss, &scaled));
  assert_ok(htone_tensor_release(loss));
  assert_ok(htone_tensor_release(logits));
  assert_ok(htone_tensor_release(hidden));
  assert_ok(htone_tensor_release(labels));
  assert_ok(htone_tensor_release(features));
  return scaled;
}

/* M7: some gradients may already exist, and no step may use them until they are zeroed. */
static void refuse_half_of_the_gradients(Trial* trial) {
  const uint64_t before = fingerprint(&trial->run);
  const htone_status status = htone_grad_scaler_step(trial->run.scaler, trial->run.optimizer);
  check_status(status, HTONE_ERROR_STATE, "", "a step after a backward that failed", __FILE__, __LINE__);
  assert_true(fingerprint(&trial->run) == before);
  assert_ok(htone_optimizer_zero_grad(trial->run.optimizer));
}

static void run_backward(Trial* trial) {
  htone_tensor* loss = scaled_loss(trial);
  begin_call(trial);
  const int is_done = end_call(trial, htone_tensor_backward(loss, NULL, 0), "htone_tensor_backward");
  assert_ok(htone_tensor_release(loss));
  if (is_done) return;
  refuse_half_of_the_gradients(trial);
  const int calls = trial->calls;
  loss = scaled_loss(trial);
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_ok(htone_tensor_release(loss));
  trial->calls = calls;
}

static void step(Trial* trial) {
  Run* run = &trial->run;
  ATTEMPT(trial, htone_optimizer_zero_grad(run->optimizer));
  ATTEMPT(trial, htone_batches_next(run->batches));
  run_backward(trial);
  ATTEMPT(trial, htone_grad_scaler_step(run->scaler, run->optimizer));
  ATTEMPT(trial, htone_grad_scaler_update(run->scaler));
}

static void open_directory(Trial* trial) {
  const Run* run = &trial->run;
  ATTEMPT(trial, htone_checkpoint_create(run->context, trial->folder, &trial->checkpoint));
  ATTEMPT(trial, htone_checkpoint_add_module(trial->checkpoint, "model", run->model));
  ATTEMPT(trial, htone_checkpoint_add_optimizer(trial->checkpoint, "optimizer", run->optimizer));
  ATTEMPT(trial, htone_checkpoint_add_grad_scaler(trial->checkpoint, "scaler", run->scaler));
  ATTEMPT(trial, htone_checkpoint_add_sampler(trial->checkpoint, "sampler", run->sampler));
}

static void load(Trial* trial) {
  int64_t loaded = -1;
  ATTEMPT(trial, htone_checkpoint_load(trial->checkpoint, &loaded));
  assert_true(loaded == 3);
}

/* Returns the fingerprint at the end. */
static uint64_t pass(Trial* trial) {
  ATTEMPT(trial, make_run(trial));
  ATTEMPT(trial, make_last_weight(trial));
  for (int i = 0; i < 3; ++i) step(trial);
  open_directory(trial);
  ATTEMPT(trial, htone_checkpoint_save(trial->checkpoint, 3));
  step(trial);
  load(trial);
  for (int i = 0; i < 2; ++i) step(trial);
  const uint64_t end = fingerprint(&trial->run);
  assert_ok(htone_checkpoint_release(trial->checkpoint));
  assert_ok(htone_tensor_release(trial->last_weight));
  end_run(&trial->run);
  assert_true(trial->bytes == 0);
  return end;
}

static const char* empty_folder(int64_t number) {
  static char folder[512];
  snprintf(folder, sizeof folder, "%s/%lld", test_folder(), (long long)number);
  return folder;
}

static void remove_checkpoint(const char* folder) {
  static const char* const kNames[] = {"step-3/index.json", "step-3/rank-0-of-1.safetensors", "step-3", ".lock"};
  char path[600];
  for (size_t i = 0; i < COUNT_OF(kNames); ++i) {
    snprintf(path, sizeof path, "%s/%s", folder, kNames[i]);
    if (remove(path) != 0) fail_msg("%s is not there", path);
  }
  if (remove(folder) != 0) fail_msg("%s holds more than a checkpoint", folder);
}

static void expect_the_same_run(int64_t call, int for_ever, const Trial* clean, uint64_t end, int64_t* made_up_for) {
  const int64_t handles = live_handles();
  Trial trial = {
      .folder = empty_folder(call * 2 + for_ever), .prints = clean->prints, .code = HTONE_ERROR_OUT_OF_MEMORY};
  fail_allocation(call, for_ever);
  ignore_allocations();
  const uint64_t print = pass(&trial);
  if (print != end || trial.failures > 1 || live_handles() != handles) {
    fail_msg("allocation %lld failed %s, in %s: %d calls failed, the run %s", (long long)call,
             for_ever ? "and all behind it" : "once", trial.failed_call != NULL ? trial.failed_call : "no call",
             trial.failures, print == end ? "is the same" : "is another");
  }
  if (trial.failures == 0) ++*made_up_for;
  remove_checkpoint(trial.folder);
}

/* Fails every `stride`-th allocation. */
static void fail_allocations_of_a_run(int64_t stride) {
  static uint64_t prints[kMaxCalls];
  Trial clean = {.folder = empty_folder(-1), .prints = prints, .is_clean = 1};
  fail_allocation(-1, 0);
  ignore_allocations();
  const uint64_t end = pass(&clean);
  const int64_t allocations = allocations_counted();
  remove_checkpoint(clean.folder);
  assert_true(allocations > 1000);
  int64_t made_up_for = 0, tried = 0;
  const int64_t blocks = blocks_in_use();
  for (int64_t call = 0; call < allocations; call += stride) {
    expect_the_same_run(call, 0, &clean, end, &made_up_for);
    expect_the_same_run(call, 1, &clean, end, &made_up_for);
    ++tried;
  }
  print_message("%lld of %lld allocations failed, once and for ever; %lld failures were made up for\n",
                (long long)tried, (long long)allocations, (long long)made_up_for);
  assert_true(blocks_in_use() == blocks);
}

static void p3_m1_m2_m7_m8_any_allocation_of_a_run_may_fail(void** state) {
  (void)state;
  fail_allocations_of_a_run(kStride);
}

/* As in the caller's program: the memory of objects waits for the next step, and goes with the run's context. */
static void m1_m2_any_allocation_may_fail_while_memory_of_objects_is_kept(void** state) {
  (void)state;
  if (HALFTONE_ANY_SANITIZER) skip_test("the sanitizers' builds keep no memory of objects");
  setenv("HALFTONE_OBJECT_POOL", "1", 1);
  fail_allocations_of_a_run(kPoolStride);
  setenv("HALFTONE_OBJECT_POOL", "0", 1);
}

static void any_call_may_be_interrupted_where_it_makes_a_tensor(void** state) {
  (void)state;
  static uint64_t prints[kMaxCalls];
  fail_allocation(-1, 0);
  ignore_allocations();
  assert_ok(htone_interrupt_set_callback(&interrupt_flag, answer, NULL, NULL));
  interrupt_flag = 1;
  asked = 0;
  Trial clean = {.folder = empty_folder(-1), .prints = prints, .is_clean = 1};
  const uint64_t end = pass(&clean);
  const int64_t questions = asked;
  remove_checkpoint(clean.folder);
  assert_true(questions > 100);
  for (int64_t k = 0; k < questions; k += kStride) {
    Trial trial = {.folder = empty_folder(k), .prints = prints, .code = HTONE_ERROR_CANCELLED};
    asked = 0;
    interrupted_at = k;
    if (pass(&trial) != end || trial.failures != 1) {
      fail_msg("question %lld: %d calls failed, in %s", (long long)k, trial.failures,
               trial.failed_call != NULL ? trial.failed_call : "no call");
    }
    remove_checkpoint(trial.folder);
  }
  assert_ok(htone_interrupt_set_callback(NULL, NULL, NULL, NULL));
}

int main(int argc, char** argv) {
  /* Uses files in memory if possible: thousands of saves need not reach a disk. */
  setenv("TMPDIR", "/dev/shm", 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(p3_m1_m2_m7_m8_any_allocation_of_a_run_may_fail),
      cmocka_unit_test(m1_m2_any_allocation_may_fail_while_memory_of_objects_is_kept),
      cmocka_unit_test(any_call_may_be_interrupted_where_it_makes_a_tensor),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
