#define _XOPEN_SOURCE 700 /* nftw */
#include "run_tests.h"

#include <fnmatch.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum Kind {
  kTensor,
  kModule,
  kParameter,
  kParameters,
  kStateDict,
  kOptimizer,
  kSchedule,
  kGradScaler,
  kEma,
  kPolicy,
  kSampler,
  kBatches,
  kFunction,
  kGraph,
  kScaled,
  kStatistics,
  kHook,
  kStore,
  kGroup,
  kWork,
  kDevice,
  kContext
} Kind;

typedef struct Kept {
  Kind kind;
  void* handle;
} Kept;

enum { kMaxKept = 4096 };

static Kept kept[kMaxKept];
static size_t kept_count;
static int64_t handles_before;
static htone_context* context;
static htone_device* device;
static char folder[256]; /* empty if the running test has no folder */

htone_context* test_context(void) { return context; }
htone_device* test_device(void) { return device; }

int64_t live_handles(void) {
  int64_t count = -1;
  assert_ok(htone_debug_live_handles(&count));
  return count;
}

int32_t last_native_code(void) {
  htone_error_info info = {.struct_size = sizeof info};
  assert_ok(htone_error_last(&info));
  return info.native_code;
}

void check_status(htone_status actual, htone_status expected, const char* part, const char* call, const char* file,
                  int line) {
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  if (actual != expected) {
    print_error("%s\n  returned %s instead of %s%s%s\n", call, htone_status_name(actual), htone_status_name(expected),
                actual == HTONE_OK ? "" : ": ", actual == HTONE_OK ? "" : info.message);
    _fail(file, line);
  }
  if (actual == HTONE_OK) return;
  const int well_formed = strncmp(info.message, "htone_", 6) == 0 && strchr(info.message, '\n') == NULL;
  if (info.status != expected || strstr(info.message, part) == NULL || !well_formed) {
    print_error("%s\n  left the message \"%s\" (%s), expected one line with \"%s\"\n", call, info.message,
                htone_status_name(info.status), part);
    _fail(file, line);
  }
}

static void* keep(Kind kind, void* handle) {
  assert_true(kept_count < kMaxKept);
  kept[kept_count++] = (Kept){kind, handle};
  return handle;
}

htone_tensor* keep_tensor(htone_tensor* tensor) { return keep(kTensor, tensor); }
htone_module* keep_module(htone_module* module) { return keep(kModule, module); }
htone_parameter* keep_parameter(htone_parameter* parameter) { return keep(kParameter, parameter); }
htone_parameters* keep_parameters(htone_parameters* parameters) { return keep(kParameters, parameters); }
htone_state_dict* keep_state_dict(htone_state_dict* state_dict) { return keep(kStateDict, state_dict); }
htone_optimizer* keep_optimizer(htone_optimizer* optimizer) { return keep(kOptimizer, optimizer); }
htone_schedule* keep_schedule(htone_schedule* schedule) { return keep(kSchedule, schedule); }
htone_ema* keep_ema(htone_ema* ema) { return keep(kEma, ema); }
htone_grad_scaler* keep_grad_scaler(htone_grad_scaler* scaler) { return keep(kGradScaler, scaler); }
htone_autocast_policy* keep_policy(htone_autocast_policy* policy) { return keep(kPolicy, policy); }
htone_sampler* keep_sampler(htone_sampler* sampler) { return keep(kSampler, sampler); }
htone_batches* keep_batches(htone_batches* batches) { return keep(kBatches, batches); }
htone_function* keep_function(htone_function* function) { return keep(kFunction, function); }
htone_graph* keep_graph(htone_graph* graph) { return keep(kGraph, graph); }
htone_scaled* keep_scaled(htone_scaled* scaled) { return keep(kScaled, scaled); }
htone_statistics* keep_statistics(htone_statistics* statistics) { return keep(kStatistics, statistics); }
htone_hook* keep_hook(htone_hook* hook) { return keep(kHook, hook); }
htone_store* keep_store(htone_store* store) { return keep(kStore, store); }
htone_group* keep_group(htone_group* group) { return keep(kGroup, group); }
htone_work* keep_work(htone_work* work) { return keep(kWork, work); }
htone_device* keep_device(htone_device* kept_device) { return keep(kDevice, kept_device); }
htone_context* keep_context(htone_context* kept_context) { return keep(kContext, kept_context); }

static htone_status release(Kept entry) {
  switch (entry.kind) {
    case kTensor:
      return htone_tensor_release(entry.handle);
    case kModule:
      return htone_module_release(entry.handle);
    case kParameter:
      return htone_parameter_release(entry.handle);
    case kParameters:
      return htone_parameters_release(entry.handle);
    case kStateDict:
      return htone_state_dict_release(entry.handle);
    case kOptimizer:
      return htone_optimizer_release(entry.handle);
    case kSchedule:
      return htone_schedule_release(entry.handle);
    case kEma:
      return htone_ema_release(entry.handle);
    case kGradScaler:
      return htone_grad_scaler_release(entry.handle);
    case kPolicy:
      return htone_autocast_policy_release(entry.handle);
    case kSampler:
      return htone_sampler_release(entry.handle);
    case kBatches:
      return htone_batches_release(entry.handle);
    case kFunction:
      return htone_function_release(entry.handle);
    case kGraph:
      return htone_graph_release(entry.handle);
    case kScaled:
      return htone_scaled_release(entry.handle);
    case kStatistics:
      return htone_statistics_release(entry.handle);
    case kHook:
      return htone_hook_release(entry.handle);
    case kStore:
      return htone_store_release(entry.handle);
    case kGroup:
      return htone_group_release(entry.handle);
    case kWork:
      return htone_work_release(entry.handle);
    case kDevice:
      return htone_device_release(entry.handle);
    case kContext:
      return htone_context_release(entry.handle);
  }
  return HTONE_ERROR_INTERNAL;
}

htone_context* make_context(int32_t num_threads, uint64_t seed) {
  htone_context_options options;
  htone_context* made = NULL;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = num_threads;
  options.seed = seed;
  assert_ok(htone_context_create(&options, &made));
  return keep_context(made);
}

htone_device* make_device(htone_context* owner) {
  htone_device* made = NULL;
  assert_ok(htone_device_create(owner, "cpu", &made));
  return keep_device(made);
}

void run_on_stack_of(size_t bytes, void* (*work)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
  assert_int_equal(pthread_create(&thread, &attributes, work, argument), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static int begin_group(void** state) {
  (void)state;
  htone_context_options options;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = 2;
  assert_ok(htone_context_create(&options, &context));
  assert_ok(htone_device_create(context, "cpu", &device));
  return 0;
}

static int end_group(void** state) {
  (void)state;
  assert_ok(htone_device_release(device));
  assert_ok(htone_context_release(context));
  assert_int_equal(live_handles(), 0);
  return 0;
}

static int begin_test(void** state) {
  (void)state;
  handles_before = live_handles();
  return 0;
}

const char* test_folder(void) {
  if (folder[0] != '\0') return folder;
  const char* parent = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/halftone-test-XXXXXX", parent != NULL ? parent : "/tmp");
  assert_non_null(mkdtemp(folder));
  return folder;
}

static int remove_entry(const char* path, const struct stat* status, int type, struct FTW* position) {
  (void)status;
  (void)type;
  (void)position;
  return remove(path);
}

static int end_test(void** state) {
  (void)state;
  if (folder[0] != '\0') assert_int_equal(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
  folder[0] = '\0';
  while (kept_count > 0) assert_ok(release(kept[--kept_count]));
  assert_int_equal(live_handles(), handles_before);
  return 0;
}

static int any_matches(const struct CMUnitTest* tests, size_t count, const char* pattern) {
  for (size_t i = 0; i < count; ++i) {
    if (fnmatch(pattern, tests[i].name, 0) == 0) return 1;
  }
  return 0;
}

int run_program(int argc, char** argv, const struct CMUnitTest* tests, size_t count) {
  struct CMUnitTest* all = malloc(count * sizeof *all);
  if (all == NULL) return 1;
  for (size_t i = 0; i < count; ++i) {
    all[i] = tests[i];
    all[i].setup_func = begin_test;
    all[i].teardown_func = end_test;
  }
  if (argc > 1 && !any_matches(tests, count, argv[1])) {
    print_error("no test matches %s\n", argv[1]);
    free(all);
    return 1;
  }
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  const char* slash = strrchr(argv[0], '/');
  const int result = _cmocka_run_group_tests(slash != NULL ? slash + 1 : argv[0], all, count, begin_group, end_group);
  free(all);
  return result;
}
