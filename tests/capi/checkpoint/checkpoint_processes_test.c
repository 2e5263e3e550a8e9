/* Several processes share one checkpoint directory; only one may write at a time. Test names begin with their rows of
 * tests/faults.md. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_child.h"
#include "test_run.h"

enum { kRefused = 100 };

static const RunKind kKind = {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw};

static const char* directory(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/run", test_folder());
  return path;
}

static Run trained_run(int steps) {
  Run run;
  assert_ok(begin_run(&run, &kKind, NULL));
  for (int i = 0; i < steps; ++i) assert_ok(train_step(&run));
  return run;
}

static htone_checkpoint* open_directory(const Run* run) {
  htone_checkpoint* checkpoint = NULL;
  assert_ok(htone_checkpoint_create(run->context, directory(), &checkpoint));
  assert_ok(add_parts(checkpoint, run));
  return checkpoint;
}

static int write_beside_another(void* argument) {
  htone_checkpoint* second = NULL;
  const htone_status status = htone_checkpoint_create(argument, directory(), &second);
  return status == HTONE_ERROR_STATE && second == NULL ? kRefused : status;
}

static void s8_another_process_is_refused_while_this_one_writes(void** state) {
  (void)state;
  Run run = trained_run(1);
  htone_checkpoint* checkpoint = open_directory(&run);
  assert_int_equal(code_of_child(write_beside_another, run.context), kRefused);
  assert_ok(htone_checkpoint_save(checkpoint, 1));
  assert_ok(htone_checkpoint_release(checkpoint));
  assert_int_equal(code_of_child(write_beside_another, run.context), HTONE_OK);
  assert_ok(htone_checkpoint_release(open_directory(&run))); /* the lock was released when the child ended */
  end_run(&run);
}

/* A child that was forked while the directory was open and that keeps running. */
typedef struct Worker {
  htone_checkpoint* checkpoint;
  int ready[2]; /* a pipe; the child writes to it after it has checked its own state */
  int stop[2];  /* a pipe; when its write end is closed, the child exits */
} Worker;

static int work_until_told(const Worker* worker) {
  char byte = 0;
  int64_t step = 0;
  close(worker->stop[1]);
  if (htone_checkpoint_save(worker->checkpoint, 2) != HTONE_ERROR_STATE) byte = 1;
  if (htone_checkpoint_load(worker->checkpoint, &step) != HTONE_OK || step != 1) byte = 2;
  if (write(worker->ready[1], &byte, 1) != 1 || byte != 0) return 1;
  if (read(worker->stop[0], &byte, 1) != 0) return 2;
  return htone_checkpoint_release(worker->checkpoint) == HTONE_OK ? 0 : 3;
}

static pid_t start_worker(Worker* worker) {
  char byte = 1;
  assert_true(pipe(worker->ready) == 0 && pipe(worker->stop) == 0);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(work_until_told(worker));
  }
  assert_true(read(worker->ready[0], &byte, 1) == 1);
  assert_int_equal(byte, 0);
  return child;
}

static void h3_a_forked_child_does_not_hold_the_directory(void** state) {
  (void)state;
  Run run = trained_run(2);
  Worker worker;
  int status = -1;
  worker.checkpoint = open_directory(&run);
  assert_ok(htone_checkpoint_save(worker.checkpoint, 1));
  const pid_t child = start_worker(&worker);
  htone_checkpoint* second = NULL;
  assert_fails(htone_checkpoint_create(run.context, directory(), &second), HTONE_ERROR_STATE, "writes into");
  assert_ok(htone_checkpoint_save(worker.checkpoint, 2));
  assert_ok(htone_checkpoint_release(worker.checkpoint));
  worker.checkpoint = open_directory(&run);
  assert_ok(htone_checkpoint_save(worker.checkpoint, 3));
  assert_ok(htone_checkpoint_release(worker.checkpoint));
  for (int end = 0; end < 2; ++end) {
    close(worker.ready[end]);
    close(worker.stop[end]);
  }
  assert_true(waitpid(child, &status, 0) == child);
  assert_int_equal(status, 0);
  end_run(&run);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(s8_another_process_is_refused_while_this_one_writes),
      cmocka_unit_test(h3_a_forked_child_does_not_hold_the_directory),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
