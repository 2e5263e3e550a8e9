/* Limits of the system on a program that computes: address space, threads, processors. Each limit is set in a child,
 * under another user, because root is exempt. Test names begin with their rows of tests/faults.md. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_child.h"
#include "test_run.h"

static const RunKind kKind = {"f16 beside masters", HTONE_F16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw};

static uint64_t bytes_of_addresses(void) {
  unsigned long long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%llu", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static Run trained_run(int steps) {
  Run run;
  assert_ok(begin_run(&run, &kKind, NULL));
  for (int i = 0; i < steps; ++i) assert_ok(train_step(&run));
  return run;
}

typedef struct Expectation {
  Run run;
  uint64_t print; /* fingerprint of the run after five steps */
} Expectation;

static int exhaust_addresses(void* argument) {
  enum { kTensors = 64 };
  Expectation* expectation = argument;
  Run* run = &expectation->run;
  htone_tensor* tensors[kTensors] = {NULL};
  const int64_t size = 8 << 20;
  int made = 0;
  if (!set_soft_limit(RLIMIT_AS, bytes_of_addresses() + (100 << 20))) return 10;
  htone_status status = HTONE_OK;
  while (made < kTensors && status == HTONE_OK) {
    status = htone_tensor_create_full(run->device, HTONE_U8, 1, &size, 1, &tensors[made]);
    made += status == HTONE_OK;
  }
  if (status != HTONE_ERROR_OUT_OF_MEMORY || made < 4) return 11;
  for (int i = 0; i < made; ++i) htone_tensor_release(tensors[i]);
  for (int i = 0; i < 4; ++i) {
    if (train_step(run) != HTONE_OK) return 12;
  }
  return fingerprint(run) == expectation->print ? 0 : 13;
}

static void m4_a_limit_on_addresses_is_out_of_memory_and_training_goes_on(void** state) {
  (void)state;
  skip_under_valgrind();
  if (kSanitized) skip_test("a sanitizer needs more addresses than the limit leaves");
  Run other = trained_run(5);
  Expectation expectation = {.run = trained_run(1), .print = fingerprint(&other)};
  end_run(&other);
  const int code = code_of_child(exhaust_addresses, &expectation);
  end_run(&expectation.run);
  assert_int_equal(code, 0);
}

enum { kWide = 4, kLarge = 1 << 20 };

/* Returns 0 if a fresh context of kWide threads computes correctly. *out_threads is the number of threads during the
 * run. */
static int train_on_fresh_threads(uint64_t* out_print, int* out_threads) {
  Run run;
  htone_context_options options;
  htone_tensor *ones = NULL, *sum = NULL;
  double value = 0;
  const int64_t shape = kLarge;
  if (htone_context_options_init(&options) != HTONE_OK) return 30;
  options.num_threads = kWide;
  options.seed = 7;
  if (begin_run(&run, &kKind, &options) != HTONE_OK) return 31;
  for (int i = 0; i < 5; ++i) {
    if (train_step(&run) != HTONE_OK) return 32;
  }
  if (htone_tensor_create_full(run.device, HTONE_F32, 1, &shape, 1, &ones) != HTONE_OK) return 33;
  if (htone_sum(ones, 0, NULL, 0, &sum) != HTONE_OK || htone_tensor_item(sum, &value) != HTONE_OK) return 34;
  *out_threads = thread_count();
  *out_print = fingerprint(&run);
  htone_tensor_release(ones);
  htone_tensor_release(sum);
  end_run(&run);
  return value == kLarge ? 0 : 35;
}

static int work_with_all_threads(void* argument) {
  int threads = 0;
  uint64_t print = 0;
  const int code = train_on_fresh_threads(&print, &threads);
  if (code != 0) return code;
  return print == *(uint64_t*)argument && threads == kWide ? 0 : 40;
}

static int work_without_further_threads(void* argument) {
  int threads = 0;
  uint64_t print = 0;
  if (!become_other_user() || !set_soft_limit(RLIMIT_NPROC, 0)) return kCannotTry;
  const int code = train_on_fresh_threads(&print, &threads);
  if (code != 0) return code;
  return print == *(uint64_t*)argument && threads == 1 ? 0 : 41;
}

static void m6_a_process_that_gets_no_threads_computes_the_same_bits(void** state) {
  (void)state;
  if (kSanitized) skip_test("sanitizers end the process where a thread cannot be made");
  uint64_t expected = 0;
  int threads = 0;
  assert_int_equal(train_on_fresh_threads(&expected, &threads), 0);
  assert_int_equal(code_of_child(work_with_all_threads, &expected), 0);
  const int code = code_of_child(work_without_further_threads, &expected);
  if (code == kCannotTry) skip_test("this process may not become another user");
  assert_int_equal(code, 0);
}

/* Sets a quota of half a processor, with control groups of version 2 or 1. */
static int enter_group_with_quota(const char* folder, int version) {
  char path[600];
  const char* const files[] = {version == 2 ? "cpu.max" : "cpu.cfs_quota_us", "cgroup.procs"};
  const char* const texts[] = {version == 2 ? "50000 100000" : "50000", "0"};
  for (int i = 0; i < 2; ++i) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    const int file = open(path, O_WRONLY);
    if (file < 0) return 0;
    const ssize_t length = (ssize_t)strlen(texts[i]);
    const int done = write(file, texts[i], (size_t)length) == length;
    if (close(file) != 0 || !done) return 0;
  }
  return 1;
}

typedef struct Group {
  char folder[256];
  int version;
} Group;

/* The threads wait for each other and may not run at the same time. The alarm would end a livelock. */
static int train_with_quota(void* argument) {
  const Group* group = argument;
  htone_context_options options;
  htone_context* context = NULL;
  int32_t count = 0;
  uint64_t print = 0;
  int threads = 0;
  if (!enter_group_with_quota(group->folder, group->version)) return kCannotTry;
  unsetenv("HALFTONE_NUM_THREADS");
  if (htone_context_options_init(&options) != HTONE_OK || htone_context_create(&options, &context) != HTONE_OK)
    return 1;
  if (htone_context_num_threads(context, &count) != HTONE_OK || count != 1) return 2;
  htone_context_release(context);
  return train_on_fresh_threads(&print, &threads);
}

static void h10_a_quota_of_half_a_processor_gives_one_thread(void** state) {
  (void)state;
  static const char* const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
                                      "/sys/fs/cgroup/cpu,cpuacct"};
  int code = kCannotTry;
  for (size_t i = 0; i < COUNT_OF(roots) && code == kCannotTry; ++i) {
    Group group = {.version = i < 2 ? 2 : 1};
    snprintf(group.folder, sizeof group.folder, "%s/halftone-test-%d", roots[i], (int)getpid());
    if (mkdir(group.folder, 0755) != 0) continue;
    code = code_of_child(train_with_quota, &group);
    assert_int_equal(rmdir(group.folder), 0);
  }
  if (code == kCannotTry) skip_test("this process may not make a control group with a quota");
  assert_int_equal(code, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m4_a_limit_on_addresses_is_out_of_memory_and_training_goes_on),
      cmocka_unit_test(m6_a_process_that_gets_no_threads_computes_the_same_bits),
      cmocka_unit_test(h10_a_quota_of_half_a_processor_gives_one_thread),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
