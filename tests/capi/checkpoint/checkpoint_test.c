/* Checkpoints of a run: a resumed run is bitwise equal, and a load is all or nothing. Test names and comments
 * name the promises and the rows of tests/faults.md that they show. */
#include <stdio.h>

#include "test_run.h"
#include "test_tensors.h"

static const RunKind kKinds[] = {
    {"f32", HTONE_F32, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"split bf16, short moments", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_BF16, HTONE_F32, kRunAdamw},
    {"8-bit moments", HTONE_BF16, HTONE_MASTER_FULL, HTONE_I8, HTONE_U8, kRunAdamw},
    {"f16 without masters", HTONE_F16, HTONE_MASTER_NONE, HTONE_F32, HTONE_F32, kRunAdamw},
    {"rmsprop", HTONE_BF16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunRmsprop},
    {"adafactor", HTONE_BF16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdafactor},
    {"adafactor without masters", HTONE_BF16, HTONE_MASTER_NONE, HTONE_F32, HTONE_F32, kRunAdafactor},
    {"rmsprop, 8-bit moments", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_I8, HTONE_U8, kRunRmsprop},
};
static const RunKind* const kPlain = &kKinds[1];

static const char* path_of(const char* name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

static htone_checkpoint* open_checkpoint(const Run* run) {
  htone_checkpoint* checkpoint = NULL;
  assert_ok(htone_checkpoint_create(run->context, path_of("run"), &checkpoint));
  assert_ok(add_parts(checkpoint, run));
  return checkpoint;
}

static void save(const Run* run, int64_t step) {
  htone_checkpoint* checkpoint = open_checkpoint(run);
  assert_ok(htone_checkpoint_save(checkpoint, step));
  assert_ok(htone_checkpoint_release(checkpoint));
}

static int64_t load(const Run* run) {
  int64_t step = -2;
  htone_checkpoint* checkpoint = open_checkpoint(run);
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_ok(htone_checkpoint_release(checkpoint));
  return step;
}

static void train(Run* run, int steps) {
  for (int i = 0; i < steps; ++i) assert_ok(train_step(run));
}

static void p7_a_resumed_run_equals_one_that_never_stopped(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kKinds); ++i) {
    Run whole, first, second;
    assert_ok(begin_run(&whole, &kKinds[i], NULL));
    train(&whole, 25);
    assert_ok(begin_run(&first, &kKinds[i], NULL));
    train(&first, 11);
    save(&first, (int64_t)(i + 1) * 100);
    end_run(&first);
    assert_ok(begin_run(&second, &kKinds[i], NULL));
    train(&second, 2); /* state from before the load must not matter */
    assert_true(load(&second) == (int64_t)(i + 1) * 100);
    train(&second, 14);
    if (fingerprint(&second) != fingerprint(&whole)) print_error("kind: %s\n", kKinds[i].name);
    assert_true(fingerprint(&second) == fingerprint(&whole));
    end_run(&second);
    end_run(&whole);
  }
}

static void an_empty_directory_has_no_checkpoint(void** state) {
  (void)state;
  Run run;
  assert_ok(begin_run(&run, kPlain, NULL));
  const uint64_t before = fingerprint(&run);
  assert_true(load(&run) == -1);
  assert_true(fingerprint(&run) == before);
  end_run(&run);
}

/* F15: the checkpoint is of another model. */
static void f15_a_checkpoint_that_does_not_fit_changes_nothing(void** state) {
  (void)state;
  Run run;
  int64_t step = 0;
  htone_module* other = NULL;
  htone_checkpoint* checkpoint = NULL;
  assert_ok(begin_run(&run, kPlain, NULL));
  save(&run, 1);
  train(&run, 3);
  const uint64_t before = fingerprint(&run);
  assert_ok(htone_module_create_linear(run.device, 2, 2, NULL, &other));
  assert_ok(htone_checkpoint_create(run.context, path_of("run"), &checkpoint));
  assert_ok(htone_checkpoint_add_optimizer(checkpoint, "optimizer", run.optimizer));
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", other));
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "does not fit model");
  assert_ok(htone_checkpoint_release(checkpoint));

  assert_ok(htone_checkpoint_create(run.context, path_of("run"), &checkpoint));
  assert_ok(add_parts(checkpoint, &run));
  assert_ok(htone_checkpoint_add_module(checkpoint, "second", other));
  assert_fails(htone_checkpoint_load(checkpoint, &step), HTONE_ERROR_FORMAT, "no part second");
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_true(fingerprint(&run) == before);
  train(&run, 1);
  assert_ok(htone_module_release(other));
  end_run(&run);
}

static void parts_that_nobody_added_are_passed_over(void** state) {
  (void)state;
  Run run, evaluation;
  int64_t step = 0;
  htone_checkpoint* checkpoint = NULL;
  assert_ok(begin_run(&run, kPlain, NULL));
  train(&run, 5);
  save(&run, 5);
  assert_ok(begin_run(&evaluation, kPlain, NULL));
  assert_ok(htone_checkpoint_create(evaluation.context, path_of("run"), &checkpoint));
  assert_ok(htone_checkpoint_add_module(checkpoint, "model", evaluation.model));
  assert_ok(htone_checkpoint_add_ema(checkpoint, "averages", evaluation.ema));
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_true(step == 5);
  assert_true(fingerprint(&evaluation) == fingerprint(&run));
  assert_ok(htone_checkpoint_release(checkpoint));
  end_run(&evaluation);
  end_run(&run);
}

static void a_scaler_that_waits_for_its_update_is_not_saved(void** state) {
  (void)state;
  Run run;
  assert_ok(begin_run(&run, kPlain, NULL));
  train(&run, 1);
  htone_checkpoint* checkpoint = open_checkpoint(&run);
  assert_ok(htone_grad_scaler_unscale(run.scaler, run.optimizer));
  assert_fails(htone_checkpoint_save(checkpoint, 1), HTONE_ERROR_STATE, "update");
  assert_ok(htone_grad_scaler_update(run.scaler));
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_release(checkpoint));
  end_run(&run);
}

/* A24 */
static void names_of_parts_are_distinct_and_plain(void** state) {
  (void)state;
  Run run;
  assert_ok(begin_run(&run, kPlain, NULL));
  htone_checkpoint* checkpoint = open_checkpoint(&run);
  assert_fails(htone_checkpoint_add_module(checkpoint, "random", run.model), HTONE_ERROR_INVALID_ARGUMENT,
               "another part");
  assert_fails(htone_checkpoint_add_module(checkpoint, "a/b", run.model), HTONE_ERROR_INVALID_ARGUMENT, "slash");
  assert_ok(htone_checkpoint_release(checkpoint));
  end_run(&run);
}

static void a_step_is_saved_once_and_verified_by_name(void** state) {
  (void)state;
  Run run;
  assert_ok(begin_run(&run, kPlain, NULL));
  int64_t latest = 0;
  htone_checkpoint* checkpoint = open_checkpoint(&run);
  assert_ok(htone_checkpoint_latest(checkpoint, &latest));
  assert_true(latest == -1);
  assert_ok(htone_checkpoint_save(checkpoint, 4));
  assert_ok(htone_checkpoint_latest(checkpoint, &latest));
  assert_true(latest == 4);
  assert_ok(htone_checkpoint_verify(checkpoint, 4));
  assert_fails(htone_checkpoint_save(checkpoint, 4), HTONE_ERROR_STATE, "step 4 already");
  assert_fails(htone_checkpoint_verify(checkpoint, 3), HTONE_ERROR_IO, "index.json");
  assert_ok(htone_checkpoint_release(checkpoint));
  end_run(&run);
}

static void tensors_of_the_programs_own_are_loaded_in_place(void** state) {
  (void)state;
  htone_checkpoint* checkpoint = NULL;
  htone_state_dict* own = NULL;
  int64_t step = 0;
  htone_tensor* counter = make_ramp(HTONE_I64, 1, 3);
  assert_ok(htone_state_dict_create(&own));
  assert_ok(htone_state_dict_add(keep_state_dict(own), "counter", counter));
  assert_ok(htone_checkpoint_create(test_context(), path_of("run"), &checkpoint));
  assert_ok(htone_checkpoint_add_state_dict(checkpoint, "own", own));
  assert_ok(htone_checkpoint_save(checkpoint, 0));
  assert_ok(htone_tensor_write(counter, HTONE_I64, (const int64_t[]){9, 9, 9}, 3 * sizeof(int64_t)));
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  assert_true(step == 0);
  assert_values(counter, 0, 0, 1, 2);
  assert_ok(htone_checkpoint_release(checkpoint));
}

static void f21_f25_what_is_no_safetensors_file_is_told_by_name(void** state) {
  (void)state;
  htone_state_dict* read = NULL;
  FILE* file = fopen(path_of("pickle.pt"), "wb");
  fputs("PK\003\004 not a tensor in sight", file);
  fclose(file);
  assert_fails(htone_safetensors_load(test_device(), path_of("pickle.pt"), &read), HTONE_ERROR_FORMAT, "pickle.pt");
  assert_fails(htone_safetensors_load(test_device(), path_of("none"), &read), HTONE_ERROR_IO, "No such file");
  assert_fails(htone_safetensors_load(test_device(), test_folder(), &read), HTONE_ERROR_IO, "no regular file");
  assert_fails(htone_safetensors_load(test_device(), path_of("none"), &read), HTONE_ERROR_IO, "none");
  assert_int_equal(last_native_code(), 2); /* ENOENT */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(p7_a_resumed_run_equals_one_that_never_stopped),
      cmocka_unit_test(an_empty_directory_has_no_checkpoint),
      cmocka_unit_test(f15_a_checkpoint_that_does_not_fit_changes_nothing),
      cmocka_unit_test(parts_that_nobody_added_are_passed_over),
      cmocka_unit_test(a_scaler_that_waits_for_its_update_is_not_saved),
      cmocka_unit_test(names_of_parts_are_distinct_and_plain),
      cmocka_unit_test(a_step_is_saved_once_and_verified_by_name),
      cmocka_unit_test(tensors_of_the_programs_own_are_loaded_in_place),
      cmocka_unit_test(f21_f25_what_is_no_safetensors_file_is_told_by_name),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
