/* M12: any allocation of a sampled step may fail, once or with all later ones, by the caller's allocator or by operator
 * new. The calls return OUT_OF_MEMORY or succeed, and the next step is sampled whole. */
#include "failing_allocator.h"
#include "sanitizers.h"
#include "test_run.h"

enum { kStride = HALFTONE_ANY_SANITIZER ? 7 : 1 };

static const RunKind kKind = {"bf16 with a remainder", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_F32, HTONE_F32, kRunAdamw};

typedef struct Watched {
  Run run;
  htone_statistics* statistics;
  int64_t bytes; /* in use in the caller's allocator */
} Watched;

static void begin_watched(Watched* watched) {
  htone_context_options context = HTONE_CONTEXT_OPTIONS_INIT;
  htone_monitor_options options = HTONE_MONITOR_OPTIONS_INIT;
  const htone_allocator allocator = failing_allocator(&watched->bytes);
  context.num_threads = 1;
  context.allocator = &allocator;
  options.interval = options.noise = 1;
  assert_ok(begin_run(&watched->run, &kKind, &context));
  assert_ok(htone_statistics_create(watched->run.device, NULL, &watched->statistics));
  assert_ok(htone_statistics_watch(watched->statistics, watched->run.model, watched->run.optimizer, &options));
}

static void end_watched(Watched* watched) {
  assert_ok(htone_statistics_release(watched->statistics));
  end_run(&watched->run);
}

static void expect_success_or_no_memory(htone_status status, const char* call) {
  if (status == HTONE_OK || status == HTONE_ERROR_OUT_OF_MEMORY) return;
  check_status(status, HTONE_ERROR_OUT_OF_MEMORY, "", call, __FILE__, __LINE__);
}

/* A step, some of whose calls may fail. */
static void try_step(Watched* watched) {
  htone_status status = htone_statistics_begin_step(watched->statistics);
  expect_success_or_no_memory(status, "begin_step");
  if (status != HTONE_OK) return;
  status = train_step(&watched->run);
  expect_success_or_no_memory(status, "the step");
  if (status != HTONE_OK) {
    assert_ok(htone_statistics_cancel_step(watched->statistics));
    return;
  }
  expect_success_or_no_memory(htone_statistics_end_step(watched->statistics, 0, 1), "end_step");
}

/* The count of tensors of the newest step. */
static int newest_tensors(const Watched* watched, int64_t step) {
  size_t count = 0;
  int newest = 0;
  assert_ok(htone_statistics_flush(watched->statistics));
  assert_ok(htone_statistics_tensor_count(watched->statistics, &count));
  for (size_t i = 0; i < count; ++i) {
    htone_tensor_statistics tensor = HTONE_TENSOR_STATISTICS_INIT;
    assert_ok(htone_statistics_tensor(watched->statistics, i, &tensor));
    newest += tensor.step == step ? 1 : 0;
  }
  return newest;
}

static int64_t step_of(const Watched* watched) {
  htone_run_summary summary = HTONE_RUN_SUMMARY_INIT;
  assert_ok(htone_statistics_summary(watched->statistics, &summary));
  return summary.steps;
}

/* Two steps without a failure; returns the tensors of the second one. */
static int sample_whole(Watched* watched) {
  for (int i = 0; i < 2; ++i) {
    assert_ok(htone_statistics_begin_step(watched->statistics));
    assert_ok(train_step(&watched->run));
    assert_ok(htone_statistics_end_step(watched->statistics, 0, 1));
  }
  return newest_tensors(watched, step_of(watched));
}

/* Returns whether an allocation failed. */
static int fail_in_a_step(int64_t call, int for_ever, int expected) {
  Watched watched = {.bytes = 0};
  begin_watched(&watched);
  fail_allocation(call, for_ever);
  try_step(&watched);
  const int failed = has_allocation_failed();
  fail_allocation(-1, 0);
  ignore_allocations();
  assert_int_equal(sample_whole(&watched), expected);
  end_watched(&watched);
  return failed;
}

static void m12_any_allocation_of_a_sampled_step_may_fail(void** state) {
  (void)state;
  Watched watched = {.bytes = 0};
  begin_watched(&watched);
  const int expected = sample_whole(&watched);
  assert_true(expected > 8);
  end_watched(&watched);
  int64_t call = 0;
  while (fail_in_a_step(call, 0, expected)) {
    fail_in_a_step(call, 1, expected);
    call += kStride;
  }
  print_message("%lld allocations failed, once and for ever\n", (long long)call / kStride);
  assert_true(call > 100);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m12_any_allocation_of_a_sampled_step_may_fail),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
