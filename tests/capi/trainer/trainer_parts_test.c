/* The parts of a trainer: what a program puts in their place, what it may not do, and the progress that it reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test_optimizers.h"
#include "thread_ranks.h"
#include "trainer_run.h"

static const char* path_of(const char* name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

static void wrong_options_name_their_field(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("fp12");
  TrainerRun run;
  begin_trainer_data(&run);
  assert_fails(htone_trainer_create(run.model, run.batches, &options, &run.trainer), HTONE_ERROR_INVALID_ARGUMENT,
               "options.precision=\"fp12\", expected fp32, bf16, fp16, fp8-delayed");
  options.precision = "bf16";
  options.warmup_steps = kTrainerSteps;
  assert_fails(htone_trainer_create(run.model, run.batches, &options, &run.trainer), HTONE_ERROR_INVALID_ARGUMENT,
               "options.warmup_steps=50, expected at most 49");
  options = (htone_trainer_options)HTONE_TRAINER_OPTIONS_INIT;
  options.accumulate = 10;
  assert_fails(htone_trainer_create(run.model, run.batches, &options, &run.trainer), HTONE_ERROR_INVALID_ARGUMENT,
               "options.accumulate=10, expected at most 9, the batches of all epochs");
  options.lr = -1;
  options.accumulate = 4;
  assert_fails(htone_trainer_create(run.model, run.batches, &options, &run.trainer), HTONE_ERROR_INVALID_ARGUMENT,
               "options.lr=-1");
  options.lr = 1e-3;
  assert_ok(htone_trainer_create(run.model, run.batches, &options, &run.trainer));
  assert_true(progress_of(&run).steps == 2); /* nine batches make two steps of four */
  end_trainer_run(&run);
}

static void a_model_without_parameters_is_refused(void** state) {
  (void)state;
  TrainerRun run;
  htone_module* empty;
  begin_trainer_data(&run);
  assert_ok(htone_module_create_relu(&empty));
  assert_fails(htone_trainer_create(empty, run.batches, NULL, &run.trainer), HTONE_ERROR_STATE,
               "model has no parameters");
  assert_ok(htone_module_release(empty));
  end_trainer_run(&run);
}

static void calls_in_a_wrong_order_are_refused(void** state) {
  (void)state;
  const htone_trainer_options options = trainer_options("bf16");
  TrainerRun run;
  htone_tensor* out = NULL;
  htone_tensor* loss = make_scalar(HTONE_F32, 1);
  begin_trainer_run(&run, &options);
  assert_fails(htone_trainer_tensor(run.trainer, 0, &out), HTONE_ERROR_STATE, "call htone_trainer_next");
  assert_fails(htone_trainer_take_loss(run.trainer, loss), HTONE_ERROR_STATE, "no batch waits for its loss");
  assert_ok(htone_trainer_restart_step(run.trainer));
  assert_ok(htone_trainer_next(run.trainer, &run.phase));
  assert_fails(htone_trainer_next(run.trainer, &run.phase), HTONE_ERROR_STATE, "the loss of the last batch is missing");
  assert_fails(htone_trainer_set_evaluation(run.trainer, run.evaluation), HTONE_ERROR_STATE, "has fetched a batch");
  assert_fails(htone_trainer_set_evaluation(run.trainer, run.batches), HTONE_ERROR_INVALID_ARGUMENT,
               "the sampler of the training");
  assert_fails(htone_trainer_tensor(run.trainer, 2, &out), HTONE_ERROR_INVALID_ARGUMENT, "index=2");
  assert_fails(htone_trainer_take_loss(run.trainer, make_noise(HTONE_F32, 1, 1, 2)), HTONE_ERROR_SHAPE_MISMATCH,
               "loss has 2 elements");
  assert_fails(htone_trainer_save(run.trainer), HTONE_ERROR_STATE, "options.checkpoint is NULL");
  turn_trainer_to(&run, INT64_MAX); /* save went back to the end of the step */
  assert_fails(htone_trainer_take_loss(run.trainer, loss), HTONE_ERROR_STATE, "no batch waits for its loss");
  assert_ok(turn_trainer(&run));
  assert_int_equal(run.phase, HTONE_TRAINER_DONE);
  end_trainer_run(&run);
}

static void another_optimizer_and_checkpoint_are_used(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("fp32");
  htone_optimizer_options sgd = HTONE_SGD_OPTIONS_INIT;
  htone_checkpoint* checkpoint;
  htone_state_dict* own;
  TrainerRun run;
  double lr;
  int64_t step;
  sgd.lr = 0.125;
  options.steps = 3;
  options.warmup_steps = 0;
  begin_trainer_run(&run, &options);
  assert_ok(htone_optimizer_create(run.model, &sgd, &run.optimizer));
  assert_ok(htone_trainer_set_optimizer(run.trainer, run.optimizer));
  assert_ok(htone_checkpoint_create(run.context, path_of("own"), &checkpoint));
  assert_ok(htone_module_state_dict(run.model, &own));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "own", own));
  assert_ok(htone_trainer_set_checkpoint(run.trainer, checkpoint));
  turn_trainer_to(&run, INT64_MAX);
  assert_true(progress_of(&run).lr == 0.125);
  assert_ok(htone_optimizer_lr(run.optimizer, &lr));
  assert_true(lr == 0.125);
  assert_ok(htone_checkpoint_latest(checkpoint, &step));
  assert_true(step == 3);
  assert_ok(htone_state_dict_release(own));
  assert_ok(htone_checkpoint_release(checkpoint));
  end_trainer_run(&run);
}

typedef struct Called {
  const TrainerRun* run;
  int64_t steps;
  int destroyed;
  htone_status answer;
} Called;

static htone_status count_step(int64_t step, void* user) {
  Called* called = user;
  ++called->steps;
  if (step != called->steps || progress_of(called->run).step != step) return HTONE_ERROR_INTERNAL;
  return step == 2 ? called->answer : HTONE_OK;
}

static void count_destroyed(void* user) { ++((Called*)user)->destroyed; }

static void the_callback_sees_each_step_and_may_fail(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("bf16");
  TrainerRun run;
  Called called = {.run = &run, .answer = HTONE_ERROR_CANCELLED};
  options.steps = 4;
  options.warmup_steps = 0;
  options.accumulate = 1;
  begin_trainer_run(&run, &options);
  assert_ok(htone_trainer_set_callback(run.trainer, count_step, &called, count_destroyed));
  assert_ok(turn_trainer(&run));
  assert_fails(turn_trainer(&run), HTONE_ERROR_CALLBACK, "the callback of a trainer returned");
  assert_int_equal(last_native_code(), HTONE_ERROR_CANCELLED);
  assert_true(progress_of(&run).step == 2); /* the step is done all the same */
  turn_trainer_to(&run, INT64_MAX);
  assert_true(called.steps == 4 && called.destroyed == 0);
  end_trainer_run(&run);
  assert_int_equal(called.destroyed, 1);
}

static void a_record_of_the_program_has_the_steps(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("bf16");
  htone_step_record step = HTONE_STEP_RECORD_INIT;
  htone_statistics* statistics;
  htone_optimizer* optimizer;
  char path[512];
  size_t tensors;
  TrainerRun run;
  begin_trainer_run(&run, &options);
  snprintf(path, sizeof path, "%s/own.jsonl", test_folder());
  assert_ok(htone_statistics_create(run.device, NULL, &statistics));
  assert_ok(htone_statistics_write_to(statistics, path));
  assert_ok(htone_trainer_set_statistics(run.trainer, statistics));
  assert_ok(htone_trainer_optimizer(run.trainer, &optimizer));
  assert_ok(htone_statistics_watch(statistics, run.model, optimizer, NULL));
  assert_ok(htone_optimizer_release(optimizer));
  turn_trainer_to(&run, INT64_MAX);
  const htone_trainer_progress last = progress_of(&run);
  assert_ok(htone_statistics_step(statistics, kTrainerSteps, &step));
  assert_true(step.loss == last.loss && step.lr == last.lr && step.grad_norm == last.grad_norm);
  assert_true(step.items == 16 && step.outcome == HTONE_RECORDED_STEPPED);
  assert_ok(htone_statistics_tensor_count(statistics, &tensors));
  assert_true(tensors > 0);
  assert_ok(htone_statistics_release(statistics));
  end_trainer_run(&run);
}

static int lines_with(const char* path, const char* begin, const char* text) {
  static char line[1 << 16];
  FILE* file = fopen(path, "r");
  int count = 0;
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    count += strncmp(line, begin, strlen(begin)) == 0 && strstr(line, text) != NULL;
  }
  assert_int_equal(fclose(file), 0);
  return count;
}

/* The noise of a step is known in the next one. */
static void a_checkpoint_leaves_samples_open(void** state) {
  (void)state;
  htone_trainer_options options = trainer_options("fp32");
  htone_monitor_options sampling = HTONE_MONITOR_OPTIONS_INIT;
  htone_statistics* statistics;
  htone_optimizer* optimizer;
  char path[512], directory[512];
  TrainerRun run;
  snprintf(path, sizeof path, "%s/noise.jsonl", test_folder());
  snprintf(directory, sizeof directory, "%s/noise", test_folder());
  options.checkpoint = directory;
  options.checkpoint_every = 2;
  sampling.interval = sampling.noise = 1;
  begin_trainer_run(&run, &options);
  assert_ok(htone_statistics_create(run.device, NULL, &statistics));
  assert_ok(htone_statistics_write_to(statistics, path));
  assert_ok(htone_trainer_set_statistics(run.trainer, statistics));
  assert_ok(htone_trainer_optimizer(run.trainer, &optimizer));
  assert_ok(htone_statistics_watch(statistics, run.model, optimizer, &sampling));
  assert_ok(htone_optimizer_release(optimizer));
  turn_trainer_to(&run, 5);
  assert_true(lines_with(path, "{\"step\":1,", "\"noise\":") > 0);
  assert_true(lines_with(path, "{\"step\":2,", "\"noise\":") > 0);
  assert_ok(htone_statistics_release(statistics));
  end_trainer_run(&run);
}

/* ---- Ranks */

static htone_trainer_options rank_options(const char* directory) {
  htone_trainer_options options = HTONE_TRAINER_OPTIONS_INIT;
  options.steps = 3;
  options.precision = "fp16";
  options.accumulate = 2;
  options.fallback_after = 2;
  options.checkpoint = directory;
  options.resume = 1;
  return options;
}

static htone_status turn_rank(htone_trainer* trainer, htone_module* model) {
  htone_scope *handles, *turn;
  htone_tensor *x, *loss;
  REQUIRE_OK(htone_handles_begin(&handles));
  REQUIRE_OK(htone_trainer_turn_begin(trainer, &turn));
  REQUIRE_OK(htone_trainer_tensor(trainer, 0, &x));
  REQUIRE_OK(htone_module_forward(model, x, NULL, &loss));
  REQUIRE_OK(htone_mean(loss, 0, NULL, 0, &loss));
  REQUIRE_OK(htone_trainer_take_loss(trainer, loss));
  REQUIRE_OK(htone_scope_end(turn));
  return htone_scope_end(handles);
}

/* The value is the same on all ranks. */
static void require_equal(ThreadRank* rank, double value) {
  const int64_t one = 1;
  htone_tensor* number;
  double most;
  REQUIRE_OK(htone_tensor_create_copy(rank->device, HTONE_F64, 1, &one, &value, &number));
  REQUIRE_OK(htone_group_all_reduce(rank->group, HTONE_REDUCE_MAX, number, number, NULL));
  REQUIRE_OK(htone_tensor_item(number, &most));
  REQUIRE(most == value);
  REQUIRE_OK(htone_tensor_release(number));
}

/* Returns the number of steps that this call trained. */
static int64_t train_rank(ThreadRank* rank, htone_module* model, htone_batches* const* batches, const char* directory) {
  const htone_trainer_options options = rank_options(directory);
  htone_trainer* trainer;
  htone_trainer_phase phase = HTONE_TRAINER_TRAIN;
  htone_trainer_progress progress = HTONE_TRAINER_PROGRESS_INIT;
  int64_t turns = 0;
  REQUIRE_OK(htone_trainer_create(model, batches[0], &options, &trainer));
  REQUIRE_OK(htone_trainer_set_group(trainer, rank->group));
  REQUIRE_OK(htone_trainer_set_evaluation(trainer, batches[1]));
  for (;;) {
    REQUIRE_OK(htone_trainer_next(trainer, &phase));
    if (phase == HTONE_TRAINER_DONE) break;
    turns += phase == HTONE_TRAINER_TRAIN;
    REQUIRE_OK(turn_rank(trainer, model));
  }
  REQUIRE_OK(htone_trainer_describe(trainer, &progress));
  REQUIRE(progress.step == 3 && progress.skipped == 0);
  REQUIRE(turns == 0 || progress.items == 8); /* of two batches and ranks */
  require_equal(rank, turns == 0 ? 0 : progress.loss);
  require_equal(rank, progress.evaluation_loss);
  REQUIRE_OK(htone_trainer_release(trainer));
  return turns / options.accumulate;
}

static htone_batches* make_rank_batches(ThreadRank* rank) {
  htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
  htone_sampler* sampler;
  htone_batches* batches;
  htone_tensor *numbers, *rows;
  const int64_t shape[] = {8, 3};
  sampling.count = 8;
  sampling.batch_size = 2;
  sampling.rank = rank->number;
  sampling.world_size = rank->size;
  REQUIRE_OK(htone_arange(rank->device, HTONE_F32, 0, 24, 1, &numbers));
  REQUIRE_OK(htone_reshape(numbers, 2, shape, &rows));
  REQUIRE_OK(htone_sampler_create(&sampling, &sampler));
  REQUIRE_OK(htone_batches_create(sampler, 1, &rows, &batches));
  REQUIRE_OK(htone_sampler_release(sampler));
  REQUIRE_OK(htone_tensor_release(rows));
  REQUIRE_OK(htone_tensor_release(numbers));
  return batches;
}

static const char* rank_directory;

/* Trains a model that the ranks share, if `shards` its weights, too. Returns as train_rank. */
static int64_t run_rank(ThreadRank* rank, int shards) {
  htone_batches* batches[2];
  htone_module* model;
  htone_ddp* ddp = NULL;
  htone_fsdp* fsdp = NULL;
  for (int i = 0; i < 2; ++i) batches[i] = make_rank_batches(rank);
  REQUIRE_OK(htone_module_create_linear(rank->device, 3, 2, NULL, &model));
  REQUIRE_OK(shards ? htone_fsdp_create(model, rank->group, NULL, NULL, &fsdp)
                    : htone_ddp_create(model, rank->group, NULL, &ddp));
  const int64_t steps = train_rank(rank, model, batches, rank_directory);
  REQUIRE_OK(htone_ddp_release(ddp));
  REQUIRE_OK(htone_fsdp_release(fsdp));
  REQUIRE_OK(htone_module_release(model));
  for (int i = 0; i < 2; ++i) REQUIRE_OK(htone_batches_release(batches[i]));
  return steps;
}

static void replicate(ThreadRank* rank) {
  REQUIRE(run_rank(rank, 0) == 3);
  REQUIRE(run_rank(rank, 0) == 0); /* the checkpoint has all steps */
}

static void shard(ThreadRank* rank) {
  REQUIRE(run_rank(rank, 1) == 3);
  REQUIRE(run_rank(rank, 1) == 0);
}

static void ranks_have_the_mean_of_their_losses_and_one_checkpoint(void** state) {
  (void)state;
  rank_directory = path_of("replicated");
  run_thread_ranks(2, replicate);
  rank_directory = path_of("sharded");
  run_thread_ranks(2, shard);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_options_name_their_field),
      cmocka_unit_test(a_model_without_parameters_is_refused),
      cmocka_unit_test(calls_in_a_wrong_order_are_refused),
      cmocka_unit_test(another_optimizer_and_checkpoint_are_used),
      cmocka_unit_test(the_callback_sees_each_step_and_may_fail),
      cmocka_unit_test(a_record_of_the_program_has_the_steps),
      cmocka_unit_test(a_checkpoint_leaves_samples_open),
      cmocka_unit_test(ranks_have_the_mean_of_their_losses_and_one_checkpoint),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
