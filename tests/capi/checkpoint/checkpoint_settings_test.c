/* The settings of an optimizer's groups in a checkpoint: a run that changed them goes on as if it had not stopped. */
#include <stdio.h>
#include <string.h>

#include "one_by_one.h"

/* A run of one rule: the same model and optimizer, in a first process and in the one that resumes. */
typedef struct TrainedRun {
  htone_module* module;
  htone_optimizer* optimizer;
  htone_checkpoint* checkpoint;
} TrainedRun;

static TrainedRun begin_run(htone_optimizer* optimizer, htone_module* module) {
  char path[512];
  TrainedRun run = {module, keep_optimizer(optimizer), NULL};
  snprintf(path, sizeof path, "%s/run", test_folder());
  assert_ok(htone_checkpoint_create(test_context(), path, &run.checkpoint));
  assert_ok(htone_checkpoint_add_module(run.checkpoint, "model", module));
  assert_ok(htone_checkpoint_add_optimizer(run.checkpoint, "optimizer", optimizer));
  return run;
}

static void train_twice(TrainedRun run) {
  for (int i = 0; i < 2; ++i) train_one_step(run.optimizer, run.module, 0.5);
}

/* Trains, changes a setting, saves; a second run with the settings of the beginning loads. Both train on. `changed` has
 * a setting that only its kind reads. */
static void assert_resumes(htone_optimizer_options changed, int64_t number) {
  htone_optimizer_options given, told;
  htone_optimizer* optimizer = NULL;
  int64_t step = -1;
  assert_ok(htone_optimizer_options_init(changed.kind, &given));
  assert_ok(htone_optimizer_options_init(changed.kind, &told));
  htone_module* first = one_by_one(1);
  assert_ok(htone_optimizer_create(first, &given, &optimizer));
  TrainedRun run = begin_run(optimizer, first);
  train_twice(run);
  changed.lr = 0.0625;
  changed.weight_decay = 0.25;
  assert_ok(htone_optimizer_set_group(optimizer, 0, &changed));
  assert_ok(htone_checkpoint_save(run.checkpoint, number));
  assert_ok(htone_checkpoint_release(run.checkpoint));
  train_twice(run);
  htone_module* second = one_by_one(5);
  assert_ok(htone_optimizer_create(second, &given, &optimizer));
  TrainedRun resumed = begin_run(optimizer, second);
  assert_ok(htone_checkpoint_load(resumed.checkpoint, &step));
  assert_int_equal(step, number);
  assert_ok(htone_checkpoint_release(resumed.checkpoint));
  assert_ok(htone_optimizer_group(optimizer, 0, &told));
  assert_memory_equal(&told, &changed, sizeof changed);
  train_twice(resumed);
  assert_near(value_of(second, 0), value_of(first, 0), 0);
}

static void an_optimizer_of_each_kind_resumes_with_changed_settings(void** state) {
  (void)state;
  htone_optimizer_options changed[] = {HTONE_SGD_OPTIONS_INIT,     HTONE_ADAM_OPTIONS_INIT,
                                       HTONE_ADAMW_OPTIONS_INIT,   HTONE_LION_OPTIONS_INIT,
                                       HTONE_RMSPROP_OPTIONS_INIT, HTONE_ADAFACTOR_OPTIONS_INIT};
  changed[1].beta1 = 0.5;
  changed[2].epsilon = 0.125;
  changed[3].beta2 = 0.5;
  changed[4].alpha = 0.5;
  changed[5].beta2_decay = -0.5;
  for (size_t i = 0; i < COUNT_OF(changed); ++i) assert_resumes(changed[i], (int64_t)i + 1);
}

/* Each group has its own settings. */
static void groups_resume_with_their_own_settings(void** state) {
  (void)state;
  int64_t step = -1;
  htone_optimizer_options plain = HTONE_SGD_OPTIONS_INIT, told = HTONE_SGD_OPTIONS_INIT, changed;
  plain.momentum = 0.5;
  TrainedRun runs[2];
  for (int i = 0; i < 2; ++i) {
    htone_module* module = one_by_one(1);
    htone_optimizer* optimizer = make_sgd_over(parameters_matching(module, "*weight"), &plain);
    assert_ok(htone_optimizer_retain(optimizer));
    assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(module, "*bias"), &plain));
    runs[i] = begin_run(optimizer, module);
    if (i == 0) {
      changed = plain;
      changed.momentum = 0.75;
      changed.nesterov = 1;
      assert_ok(htone_optimizer_set_group(optimizer, 1, &changed));
      assert_ok(htone_checkpoint_save(runs[i].checkpoint, 1));
    } else {
      assert_ok(htone_checkpoint_load(runs[i].checkpoint, &step));
    }
    assert_ok(htone_checkpoint_release(runs[i].checkpoint));
    train_twice(runs[i]);
  }
  assert_ok(htone_optimizer_group(runs[1].optimizer, 0, &told));
  assert_memory_equal(&told, &plain, sizeof plain);
  assert_ok(htone_optimizer_group(runs[1].optimizer, 1, &told));
  assert_memory_equal(&told, &changed, sizeof changed);
  for (size_t i = 0; i < 2; ++i) assert_near(value_of(runs[1].module, i), value_of(runs[0].module, i), 0);
  assert_true(value_of(runs[0].module, 0) != value_of(runs[0].module, 1));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_optimizer_of_each_kind_resumes_with_changed_settings),
      cmocka_unit_test(groups_resume_with_their_own_settings),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
