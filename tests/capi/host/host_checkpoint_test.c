/* Changes that a program may make to its own process while it saves and loads: fork, exit, close standard descriptors,
 * use a German locale, pin itself to one core, set environment variables to garbage. Test names begin with their rows
 * of tests/faults.md. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test_child.h"
#include "test_run.h"

static const RunKind kKind = {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw};

static const char* directory(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/run", test_folder());
  return path;
}

/* Returns a status and asserts nothing, because children and threads call it, too. */
static htone_status save(const Run* run, int64_t step) {
  htone_checkpoint* checkpoint = NULL;
  htone_status status = htone_checkpoint_create(run->context, directory(), &checkpoint);
  if (status == HTONE_OK) status = add_parts(checkpoint, run);
  if (status == HTONE_OK) status = htone_checkpoint_save(checkpoint, step);
  htone_checkpoint_release(checkpoint);
  return status;
}

static htone_status load(const Run* run, int64_t* out_step) {
  htone_checkpoint* checkpoint = NULL;
  htone_status status = htone_checkpoint_create(run->context, directory(), &checkpoint);
  if (status == HTONE_OK) status = add_parts(checkpoint, run);
  if (status == HTONE_OK) status = htone_checkpoint_load(checkpoint, out_step);
  htone_checkpoint_release(checkpoint);
  return status;
}

static Run trained_run(int steps) {
  Run run;
  directory(); /* allocated before the fork, because it belongs to the test */
  assert_ok(begin_run(&run, &kKind, NULL));
  for (int i = 0; i < steps; ++i) assert_ok(train_step(&run));
  return run;
}

/* Asserts that the directory holds the run, bitwise. */
static void assert_saved(const Run* run, int64_t expected_step) {
  Run other = trained_run(1);
  int64_t step = -2;
  assert_ok(load(&other, &step));
  assert_true(step == expected_step);
  assert_true(fingerprint(&other) == fingerprint(run));
  end_run(&other);
}

static int train_and_save(void* argument) {
  Run* run = argument;
  if (train_step(run) != HTONE_OK || save(run, 2) != HTONE_OK) return 1;
  int64_t step = 0;
  const uint64_t before = fingerprint(run);
  if (train_step(run) != HTONE_OK || load(run, &step) != HTONE_OK) return 2;
  return step == 2 && fingerprint(run) == before ? 0 : 3;
}

static void h3_a_forked_child_trains_saves_and_loads(void** state) {
  (void)state;
  Run run = trained_run(3);
  assert_int_equal(code_of_child(train_and_save, &run), 0);
  assert_ok(train_step(&run)); /* the step that the child took, repeated by the parent */
  assert_saved(&run, 2);
  end_run(&run);
}

static void* save_again_and_again(void* argument) {
  int64_t step = 10;
  while (save(argument, step) == HTONE_OK) ++step;
  return NULL;
}

static int exit_while_saving(void* run) {
  pthread_t thread;
  if (save(run, 1) != HTONE_OK || pthread_create(&thread, NULL, save_again_and_again, run) != 0) return 1;
  usleep(30000);
  exit(42);
}

static void h5_a_process_may_exit_in_the_middle_of_a_save(void** state) {
  (void)state;
  Run run = trained_run(2);
  assert_int_equal(code_of_child(exit_while_saving, &run), 42);
  Run other = trained_run(1);
  int64_t step = 0;
  assert_ok(load(&other, &step));
  assert_true(step >= 1);
  assert_true(fingerprint(&other) == fingerprint(&run));
  end_run(&other);
  end_run(&run);
}

/* A program that prints without knowing that its descriptors were closed. It does not call write(): ThreadSanitizer
 * would report a race with the close, which is real but is the program's own. */
static void* scribble(void* argument) {
  const int* stop = argument;
  while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
    for (int file = 0; file <= 2; ++file) syscall(SYS_write, file, "scribble\n", 9);
    usleep(20);
  }
  return NULL;
}

static int save_without_standard_descriptors(void* argument) {
  Run* run = argument;
  int stop = 0;
  pthread_t thread;
  htone_checkpoint* checkpoint = NULL;
  for (int file = 0; file <= 2; ++file) close(file);
  if (htone_checkpoint_create(run->context, directory(), &checkpoint) != HTONE_OK) return 1;
  for (int file = 0; file <= 2; ++file) {
    if (fcntl(file, F_GETFD) != -1) return 2;
  }
  if (add_parts(checkpoint, run) != HTONE_OK || pthread_create(&thread, NULL, scribble, &stop) != 0) return 3;
  for (int64_t step = 1; step <= 10; ++step) {
    if (htone_checkpoint_save(checkpoint, step) != HTONE_OK) return 4;
    if (htone_checkpoint_verify(checkpoint, step) != HTONE_OK) return 5;
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  htone_checkpoint_release(checkpoint);
  return 0;
}

static void h9_descriptors_that_the_host_closed_get_no_file_of_a_checkpoint(void** state) {
  (void)state;
  Run run = trained_run(2);
  assert_int_equal(code_of_child(save_without_standard_descriptors, &run), 0);
  assert_saved(&run, 10);
  end_run(&run);
}

static int has_decimal_comma(void) {
  char text[16];
  snprintf(text, sizeof text, "%.1f", 0.5);
  return strcmp(text, "0,5") == 0;
}

/* CTest sets LOCPATH to a locale that the build made. */
static void h8_a_host_with_decimal_commas_saves_and_loads_the_same(void** state) {
  (void)state;
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) skip_test("no locale de_DE.UTF-8 where LOCPATH leads");
  Run run = trained_run(3);
  const int comma = has_decimal_comma();
  const htone_status saved = save(&run, 1);
  setlocale(LC_ALL, "C");
  assert_true(comma);
  assert_ok(saved);
  assert_saved(&run, 1);
  assert_ok(train_step(&run));
  assert_ok(save(&run, 2));
  setlocale(LC_ALL, "de_DE.UTF-8");
  assert_saved(&run, 2);
  setlocale(LC_ALL, "C");
  end_run(&run);
}

static int train_on_default_threads(int expected_threads) {
  htone_context_options options;
  Run run;
  int32_t threads = 0;
  if (htone_context_options_init(&options) != HTONE_OK || begin_run(&run, &kKind, &options) != HTONE_OK) return 1;
  if (htone_context_num_threads(run.context, &threads) != HTONE_OK) return 2;
  if (expected_threads != 0 && threads != expected_threads) return 3;
  for (int i = 0; i < 3; ++i) {
    if (train_step(&run) != HTONE_OK) return 4;
  }
  end_run(&run);
  return 0;
}

static int train_on_one_core(void* argument) {
  (void)argument;
  cpu_set_t cores, one;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 10;
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  unsetenv("HALFTONE_NUM_THREADS");
  if (sched_setaffinity(0, sizeof one, &one) != 0) return 11;
  return train_on_default_threads(1);
}

static void h10_a_host_with_one_core_gets_one_thread(void** state) {
  (void)state;
  assert_int_equal(code_of_child(train_on_one_core, NULL), 0);
}

static int train_among_hostile_variables(void* argument) {
  (void)argument;
  static const char* const names[] = {"OMP_NUM_THREADS",
                                      "HALFTONE_NUM_THREADS",
                                      "HALFTONE_PLUGIN_PATH",
                                      "HWY_TARGETS",
                                      "TMPDIR",
                                      "LC_ALL",
                                      "LANG",
                                      "HOME"};
  static const char* const values[] = {"0", "-1", "", "%n%s%n", "../../../../etc/passwd", "99999999999999999999"};
  for (size_t value = 0; value < COUNT_OF(values); ++value) {
    for (size_t name = 0; name < COUNT_OF(names); ++name) setenv(names[name], values[value], 1);
    const int code = train_on_default_threads(0);
    if (code != 0) return code;
  }
  return 0;
}

static void h13_hostile_variables_change_nothing(void** state) {
  (void)state;
  assert_int_equal(code_of_child(train_among_hostile_variables, NULL), 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(h3_a_forked_child_trains_saves_and_loads),
      cmocka_unit_test(h5_a_process_may_exit_in_the_middle_of_a_save),
      cmocka_unit_test(h8_a_host_with_decimal_commas_saves_and_loads_the_same),
      cmocka_unit_test(h9_descriptors_that_the_host_closed_get_no_file_of_a_checkpoint),
      cmocka_unit_test(h10_a_host_with_one_core_gets_one_thread),
      cmocka_unit_test(h13_hostile_variables_change_nothing),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
