/* A trainer computes what a loop of the same calls computes, bit by bit: in every precision, with evaluations, resumed,
 * and after steps that did not become whole. */
#include <math.h>
#include <stdio.h>

#include "trainer_run.h"

static const char* const kPrecisions[] = {"fp32",        "bf16",      "fp16",  "fp8-delayed",
                                          "fp8-current", "fp8-block", "mxfp8", "nvfp4"};

static uint64_t whole_run(const htone_trainer_options* options) {
  TrainerRun run;
  begin_trainer_run(&run, options);
  turn_trainer_to(&run, INT64_MAX);
  const uint64_t fingerprint = trainer_fingerprint(&run);
  assert_true(progress_of(&run).step == options->steps);
  assert_int_equal(progress_of(&run).end, HTONE_TRAINER_END_STEPS);
  end_trainer_run(&run);
  return fingerprint;
}

static void each_precision_trains_as_the_loop_by_hand(void** state) {
  (void)state;
  uint64_t fingerprints[COUNT_OF(kPrecisions)];
  for (size_t i = 0; i < COUNT_OF(kPrecisions); ++i) {
    const htone_trainer_options options = trainer_options(kPrecisions[i]);
    TrainerRun by_hand;
    begin_trainer_data(&by_hand);
    train_by_hand(&by_hand, &options);
    fingerprints[i] = trainer_fingerprint(&by_hand);
    end_trainer_run(&by_hand);
    if (whole_run(&options) != fingerprints[i]) fail_msg("%s differs from the loop by hand", kPrecisions[i]);
    for (size_t j = 0; j < i; ++j) {
      if (fingerprints[j] == fingerprints[i]) fail_msg("%s computes as %s", kPrecisions[i], kPrecisions[j]);
    }
  }
}

static void an_overflow_of_fp16_is_skipped_and_named(void** state) {
  (void)state;
  const htone_trainer_options options = trainer_options("fp16");
  TrainerRun run, by_hand;
  begin_trainer_run(&run, &options);
  turn_trainer_to(&run, 1);
  const htone_trainer_progress first = progress_of(&run);
  assert_int_equal(first.skipped, 1);
  assert_string_equal(first.parameter, "0.weight");
  assert_true(first.loss_scale == 65536);
  turn_trainer_to(&run, INT64_MAX);
  begin_trainer_data(&by_hand);
  train_by_hand(&by_hand, &options);
  assert_true(run.skipped > 0 && run.skipped == by_hand.skipped);
  const htone_trainer_progress last = progress_of(&run);
  assert_true(last.loss_scale == ldexp(65536, (int)-run.skipped));
  assert_string_equal(last.parameter, "");
  assert_true(last.items == 16 && last.loss < first.loss && last.grad_norm > 0);
  end_trainer_run(&by_hand);
  end_trainer_run(&run);
}

static const char* path_of(const char* name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

static void a_resumed_run_equals_one_that_never_stopped(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kPrecisions); ++i) {
    htone_trainer_options options = trainer_options(kPrecisions[i]);
    const uint64_t expected = whole_run(&options);
    TrainerRun first, second;
    options.checkpoint = path_of(kPrecisions[i]);
    options.checkpoint_every = 10;
    options.resume = 1;
    begin_trainer_run(&first, &options);
    turn_trainer_to(&first, 27);
    end_trainer_run(&first);
    begin_trainer_run(&second, &options);
    assert_ok(turn_trainer(&second));
    assert_true(progress_of(&second).step == 20);
    turn_trainer_to(&second, INT64_MAX);
    if (trainer_fingerprint(&second) != expected) fail_msg("%s differs after a resume", kPrecisions[i]);
    end_trainer_run(&second);
    begin_trainer_run(&second, &options);
    assert_ok(turn_trainer(&second));
    assert_int_equal(second.phase, HTONE_TRAINER_DONE);
    assert_true(trainer_fingerprint(&second) == expected);
    end_trainer_run(&second);
  }
}

static void a_directory_with_a_run_is_not_overwritten(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("bf16");
  TrainerRun run;
  options.steps = 6;
  options.checkpoint = path_of("run");
  whole_run(&options);
  begin_trainer_run(&run, &options);
  assert_fails(turn_trainer(&run), HTONE_ERROR_STATE, "holds a run of 6 steps: resume it by options.resume");
  assert_fails(turn_trainer(&run), HTONE_ERROR_STATE, "holds a run of 6 steps");
  end_trainer_run(&run);
}

static void evaluations_change_no_bit_of_the_training(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kPrecisions); ++i) {
    htone_trainer_options options = trainer_options(kPrecisions[i]);
    const uint64_t expected = whole_run(&options);
    TrainerRun run;
    options.evaluate_every = 7;
    begin_trainer_run(&run, &options);
    assert_ok(htone_trainer_set_evaluation(run.trainer, run.evaluation));
    turn_trainer_to(&run, INT64_MAX);
    assert_true(progress_of(&run).evaluation_step == kTrainerSteps);
    assert_true(progress_of(&run).evaluation_loss >= progress_of(&run).best_evaluation_loss);
    if (trainer_fingerprint(&run) != expected) fail_msg("%s differs with evaluations", kPrecisions[i]);
    end_trainer_run(&run);
  }
}

/* The mean over the samples of one epoch, in evaluation mode. */
static double evaluate_by_hand(TrainerRun* run) {
  double sum = 0;
  int64_t samples = 0;
  assert_ok(htone_trainer_policy(run->trainer, &run->policy));
  assert_ok(htone_module_set_training(run->model, 0));
  for (int i = 0; i < 9; ++i) {
    htone_scope *handles, *autocast;
    htone_tensor *x, *labels, *loss;
    double value;
    int64_t count;
    assert_ok(htone_handles_begin(&handles));
    assert_ok(htone_batches_next(run->evaluation));
    assert_ok(htone_batches_tensor(run->evaluation, 0, &x));
    assert_ok(htone_batches_tensor(run->evaluation, 1, &labels));
    assert_ok(htone_autocast_begin(run->policy, &autocast));
    assert_ok(trainer_loss(run, x, labels, &loss));
    assert_ok(htone_scope_end(autocast));
    assert_ok(htone_tensor_item(loss, &value));
    assert_ok(htone_tensor_numel(labels, &count));
    sum += value * (double)count;
    samples += count;
    assert_ok(htone_scope_end(handles));
  }
  assert_true(samples == 70);
  return sum / (double)samples;
}

static void an_evaluation_is_the_mean_over_its_samples(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("bf16");
  TrainerRun run;
  int32_t training;
  options.steps = 6;
  begin_trainer_run(&run, &options);
  assert_ok(htone_trainer_set_evaluation(run.trainer, run.evaluation));
  turn_trainer_to(&run, 5);
  assert_true(progress_of(&run).evaluation_step == -1);
  assert_true(isnan(progress_of(&run).evaluation_loss));
  turn_trainer_to(&run, INT64_MAX);
  assert_true(progress_of(&run).evaluation_step == 6);
  assert_ok(htone_module_is_training(run.model, &training));
  assert_int_equal(training, 1);
  assert_true(progress_of(&run).evaluation_loss == evaluate_by_hand(&run));
  end_trainer_run(&run);
}

/* With a learning rate of 0 no evaluation after the first one is better. */
static void a_run_without_a_better_evaluation_ends_early(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("fp32");
  TrainerRun run;
  options.lr = 0;
  options.evaluate_every = 4;
  options.patience = 3;
  options.checkpoint = path_of("early");
  options.resume = 1;
  for (int i = 0; i < 2; ++i) { /* the second run resumes, and finds that it is over */
    begin_trainer_run(&run, &options);
    assert_ok(htone_trainer_set_evaluation(run.trainer, run.evaluation));
    turn_trainer_to(&run, INT64_MAX);
    assert_int_equal(progress_of(&run).end, HTONE_TRAINER_END_PATIENCE);
    assert_true(progress_of(&run).step == 16);
    assert_true(progress_of(&run).evaluations_since_best == 3);
    end_trainer_run(&run);
  }
}

/* ---- Steps that do not become whole */

static volatile int32_t interrupt;

static int end_interrupts(void** state) {
  (void)state;
  interrupt = 0;
  return htone_interrupt_set_callback(NULL, NULL, NULL, NULL) == HTONE_OK ? 0 : 1;
}

static htone_status interrupted_forward(TrainerRun* run) {
  htone_tensor *x, *labels, *loss;
  htone_status status = htone_trainer_tensor(run->trainer, 0, &x);
  if (status == HTONE_OK) status = htone_trainer_tensor(run->trainer, 1, &labels);
  interrupt = 1;
  if (status == HTONE_OK) status = trainer_loss(run, x, labels, &loss);
  return status;
}

static htone_status interrupted_loss(TrainerRun* run) {
  htone_tensor *x, *labels, *loss;
  htone_status status = htone_trainer_tensor(run->trainer, 0, &x);
  if (status == HTONE_OK) status = htone_trainer_tensor(run->trainer, 1, &labels);
  if (status == HTONE_OK) status = trainer_loss(run, x, labels, &loss);
  interrupt = 1;
  return status != HTONE_OK ? status : htone_trainer_take_loss(run->trainer, loss);
}

/* Ends the batch that comes next as Ctrl-C would. */
static void interrupt_batch(TrainerRun* run, htone_status (*batch)(TrainerRun* run)) {
  htone_scope *handles, *turn;
  assert_ok(htone_interrupt_set_callback(&interrupt, NULL, NULL, NULL));
  assert_ok(htone_trainer_next(run->trainer, &run->phase));
  assert_ok(htone_handles_begin(&handles));
  assert_ok(htone_trainer_turn_begin(run->trainer, &turn));
  assert_int_equal(batch(run), HTONE_ERROR_CANCELLED);
  interrupt = 0;
  assert_ok(htone_scope_end(turn));
  assert_ok(htone_scope_end(handles));
}

static void an_interrupted_step_begins_anew(void** state) {
  (void)state;
  htone_status (*const batches[])(TrainerRun*) = {interrupted_forward, interrupted_loss};
  const htone_trainer_options options = trainer_options("fp16");
  const uint64_t expected = whole_run(&options);
  for (int i = 0; i < 4; ++i) {
    TrainerRun run;
    begin_trainer_run(&run, &options);
    turn_trainer_to(&run, 20);
    if (i >= 2) assert_ok(turn_trainer(&run)); /* interrupts the second batch of the step */
    interrupt_batch(&run, batches[i % 2]);
    assert_true(progress_of(&run).step == 20);
    if (i % 2 == 0) assert_ok(htone_trainer_restart_step(run.trainer));
    turn_trainer_to(&run, INT64_MAX);
    assert_true(trainer_fingerprint(&run) == expected);
    end_trainer_run(&run);
  }
}

static htone_status count_down(void* user) {
  int* left = user;
  return --*left == 0 ? HTONE_ERROR_CANCELLED : HTONE_OK;
}

/* Turns are interrupted, each at another of its places, and repeated: also in backward and around the update. */
static void a_step_may_be_interrupted_at_any_place(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("fp16");
  TrainerRun run;
  int left = 0, interrupted = 0;
  options.evaluate_every = 10;
  const uint64_t expected = whole_run(&options);
  begin_trainer_run(&run, &options);
  assert_ok(htone_trainer_set_evaluation(run.trainer, run.evaluation));
  assert_ok(htone_interrupt_set_callback(&interrupt, count_down, &left, NULL));
  run.phase = HTONE_TRAINER_TRAIN;
  for (int turn = 1; run.phase != HTONE_TRAINER_DONE; ++turn) {
    const int disturbs = turn % 3 == 0 && run.phase == HTONE_TRAINER_TRAIN; /* the others make progress */
    interrupt = disturbs;
    left = turn / 3 % 40 + 1;
    const htone_status status = turn_trainer(&run);
    interrupt = 0;
    if (status == HTONE_OK) continue;
    assert_int_equal(last_native_code(), HTONE_ERROR_CANCELLED);
    assert_ok(htone_trainer_restart_step(run.trainer));
    ++interrupted;
  }
  assert_true(interrupted > 30);
  assert_true(trainer_fingerprint(&run) == expected);
  end_trainer_run(&run);
}

static void a_run_that_was_interrupted_can_be_saved(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("fp8-delayed");
  const uint64_t expected = whole_run(&options);
  TrainerRun first, second;
  options.checkpoint = path_of("interrupted");
  options.resume = 1;
  begin_trainer_run(&first, &options);
  turn_trainer_to(&first, 20);
  assert_ok(turn_trainer(&first));
  interrupt_batch(&first, interrupted_forward);
  assert_ok(htone_trainer_save(first.trainer));
  assert_ok(htone_trainer_save(first.trainer)); /* there is one */
  end_trainer_run(&first);
  begin_trainer_run(&second, &options);
  assert_ok(turn_trainer(&second));
  assert_true(progress_of(&second).step == 20);
  turn_trainer_to(&second, INT64_MAX);
  assert_true(trainer_fingerprint(&second) == expected);
  end_trainer_run(&second);
}

static void an_interrupted_evaluation_begins_anew(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("bf16");
  TrainerRun run;
  options.evaluate_every = 10;
  const uint64_t expected = whole_run(&options);
  begin_trainer_run(&run, &options);
  assert_ok(htone_trainer_set_evaluation(run.trainer, run.evaluation));
  turn_trainer_to(&run, 10);
  assert_ok(turn_trainer(&run));
  assert_int_equal(run.phase, HTONE_TRAINER_EVALUATE);
  interrupt_batch(&run, interrupted_forward);
  assert_ok(htone_trainer_restart_step(run.trainer));
  for (int i = 0; i < 9; ++i) {
    assert_ok(turn_trainer(&run));
    assert_int_equal(run.phase, HTONE_TRAINER_EVALUATE);
  }
  assert_true(progress_of(&run).evaluation_step == 10);
  turn_trainer_to(&run, INT64_MAX);
  assert_true(trainer_fingerprint(&run) == expected);
  end_trainer_run(&run);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_precision_trains_as_the_loop_by_hand),
      cmocka_unit_test(an_overflow_of_fp16_is_skipped_and_named),
      cmocka_unit_test(a_resumed_run_equals_one_that_never_stopped),
      cmocka_unit_test(a_directory_with_a_run_is_not_overwritten),
      cmocka_unit_test(evaluations_change_no_bit_of_the_training),
      cmocka_unit_test(an_evaluation_is_the_mean_over_its_samples),
      cmocka_unit_test(a_run_without_a_better_evaluation_ends_early),
      cmocka_unit_test_teardown(an_interrupted_step_begins_anew, end_interrupts),
      cmocka_unit_test_teardown(a_step_may_be_interrupted_at_any_place, end_interrupts),
      cmocka_unit_test_teardown(a_run_that_was_interrupted_can_be_saved, end_interrupts),
      cmocka_unit_test_teardown(an_interrupted_evaluation_begins_anew, end_interrupts),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
