#include "misuse_fixture.h"

#include <stdlib.h>
#include <string.h>

Fixture fixture;

static const char* function_name;
static int failures;
static int64_t handles_expected;
static unsigned char* results;
static unsigned char* expected_results;
static void* released[kHandleKinds];
static void* reused[kHandleKinds];

static void make_options(void) {
  assert_ok(htone_context_options_init(&fixture.context_options));
  assert_ok(htone_linear_options_init(&fixture.linear_options));
  assert_ok(htone_adamw_options_init(&fixture.adamw_options));
  assert_ok(htone_sgd_options_init(&fixture.sgd_options));
  assert_ok(htone_sampler_options_init(&fixture.sampler_options));
  fixture.sampler_options.count = 2;
  fixture.sampler_options.batch_size = 2;
  assert_ok(htone_grad_scaler_options_init(&fixture.grad_scaler_options));
  fixture.grad_scaler_state =
      (htone_grad_scaler_state){.struct_size = sizeof fixture.grad_scaler_state, .hysteresis_left = 1, .scale = 1024};
}

typedef union Handle {
  void* any;
  htone_context* context;
  htone_device* device;
  htone_tensor* tensor;
  htone_scope* scope;
  htone_autocast_policy* policy;
  htone_module* module;
  htone_parameter* parameter;
  htone_optimizer* optimizer;
  htone_schedule* schedule;
  htone_grad_scaler* scaler;
  htone_sampler* sampler;
  htone_batches* batches;
} Handle;

/* One new object of a kind; the scope and the parameter need others to stand on. */
static void* make_object(HandleKind kind) {
  Handle made = {NULL};
  htone_tensor* rows = fixture.tensor;
  const int64_t shape[] = {2, 2};
  switch (kind) {
    case kContextHandle:
      assert_ok(htone_context_create(NULL, &made.context));
      break;
    case kDeviceHandle:
      assert_ok(htone_device_create(fixture.context, "cpu", &made.device));
      break;
    case kTensorHandle:
      assert_ok(htone_tensor_create_full(fixture.device, HTONE_F32, 2, shape, 1, &made.tensor));
      break;
    case kScopeHandle:
      assert_ok(htone_autocast_begin(fixture.policy, &made.scope));
      break;
    case kPolicyHandle:
      assert_ok(htone_autocast_policy_create(HTONE_F32, &made.policy));
      break;
    case kModuleHandle:
      assert_ok(htone_module_create_linear(fixture.device, 2, 2, NULL, &made.module));
      break;
    case kParameterHandle:
      assert_ok(htone_module_parameter(fixture.module, 0, &made.parameter));
      break;
    case kOptimizerHandle:
      assert_ok(htone_optimizer_create_sgd(fixture.free_module, NULL, &made.optimizer));
      break;
    case kScheduleHandle:
      assert_ok(htone_schedule_create_constant(&made.schedule));
      break;
    case kGradScalerHandle:
      assert_ok(htone_grad_scaler_create(fixture.device, NULL, &made.scaler));
      break;
    case kSamplerHandle:
      assert_ok(htone_sampler_create(&fixture.sampler_options, &made.sampler));
      break;
    case kBatchesHandle:
      assert_ok(htone_batches_create(fixture.sampler, 1, &rows, &made.batches));
      break;
    case kHandleKinds:
      break;
  }
  return made.any;
}

static htone_status release_object(HandleKind kind, void* handle) {
  switch (kind) {
    case kContextHandle:
      return htone_context_release(handle);
    case kDeviceHandle:
      return htone_device_release(handle);
    case kTensorHandle:
      return htone_tensor_release(handle);
    case kScopeHandle:
      return htone_scope_end(handle);
    case kPolicyHandle:
      return htone_autocast_policy_release(handle);
    case kModuleHandle:
      return htone_module_release(handle);
    case kParameterHandle:
      return htone_parameter_release(handle);
    case kOptimizerHandle:
      return htone_optimizer_release(handle);
    case kScheduleHandle:
      return htone_schedule_release(handle);
    case kGradScalerHandle:
      return htone_grad_scaler_release(handle);
    case kSamplerHandle:
      return htone_sampler_release(handle);
    case kBatchesHandle:
      return htone_batches_release(handle);
    case kHandleKinds:
      break;
  }
  return HTONE_INTERNAL;
}

static void* release_new_object(HandleKind kind) {
  void* made = make_object(kind);
  assert_ok(release_object(kind, made));
  return made;
}

static void make_tensors(void) {
  fixture.leaf = leaf(make_ramp(HTONE_F32, 2, 2, 2));
  fixture.loss = sum_of(apply2(htone_mul, fixture.leaf, fixture.leaf));
  fixture.gradient = make_scalar(HTONE_F32, 1);
  fixture.targets = make_ramp(HTONE_I64, 1, 2);
  fixture.bias = make_ramp(HTONE_F32, 1, 2);
  assert_ok(htone_tensor_backward(fixture.loss, NULL, 1));
}

static void make_objects(void) {
  fixture.context = test_context();
  fixture.device = test_device();
  fixture.tensor = keep_tensor(make_object(kTensorHandle));
  fixture.policy = keep_policy(make_object(kPolicyHandle));
  fixture.module = keep_module(make_object(kModuleHandle));
  fixture.free_module = keep_module(make_object(kModuleHandle));
  fixture.parameter = parameter_of(fixture.module, 0);
  assert_ok(htone_optimizer_create_adamw(fixture.module, NULL, &fixture.optimizer));
  keep_optimizer(fixture.optimizer);
  fixture.schedule = keep_schedule(make_object(kScheduleHandle));
  fixture.scaler = keep_grad_scaler(make_object(kGradScalerHandle));
  fixture.sampler = keep_sampler(make_object(kSamplerHandle));
  fixture.batches = keep_batches(make_object(kBatchesHandle));
  assert_ok(htone_batches_next(fixture.batches));
  backward(sum_of(forward(fixture.module, fixture.tensor)));
}

/* The slot of `reused` was given to later objects of the same kind; some of them live until the test ends. */
static void make_stale_handles(void) {
  for (int kind = 0; kind < kHandleKinds; ++kind) released[kind] = release_new_object(kind);
  for (int kind = 0; kind < kHandleKinds; ++kind) {
    reused[kind] = release_new_object(kind);
    for (int i = 0; i < 100; ++i) release_new_object(kind);
  }
  for (int i = 0; i < 20; ++i) keep_tensor(make_object(kTensorHandle));
}

void begin_misuse(const char* function) {
  function_name = function;
  failures = 0;
  make_options();
  make_objects();
  make_tensors();
  make_stale_handles();
  fixture.scope = make_object(kScopeHandle);
  results = malloc(kResults * kResultBytes);
  expected_results = malloc(kResults * kResultBytes);
  assert_true(results != NULL && expected_results != NULL);
  memset(results, 0xa5, kResults * kResultBytes);
  note_results();
  handles_expected = live_handles();
}

void end_misuse(void) {
  assert_ok(htone_scope_end(fixture.scope));
  free(results);
  free(expected_results);
  assert_int_equal(failures, 0);
}

void* result_memory(int k) { return results + k * kResultBytes; }

void note_results(void) { memcpy(expected_results, results, kResults * kResultBytes); }

static void report(const char* argument, const char* what, const char* complaint) {
  print_error("%s(%s = %s): %s\n", function_name, argument, what, complaint);
  ++failures;
}

static void judge_side_effects(const char* argument, const char* what) {
  if (memcmp(results, expected_results, kResults * kResultBytes) != 0) {
    report(argument, what, "a result was written");
    memcpy(results, expected_results, kResults * kResultBytes);
  }
  const int64_t handles = live_handles();
  if (handles != handles_expected) report(argument, what, "the number of live handles changed");
  handles_expected = handles;
}

void reset_results(void) {
  memcpy(results, expected_results, kResults * kResultBytes);
  judge_side_effects("every argument", "valid");
}

void refused_silently(Wrong wrong, htone_status actual) {
  if (actual != wrong.expected) {
    print_error("%s instead of %s: ", htone_status_name(actual), htone_status_name(wrong.expected));
    report(wrong.argument, wrong.what, "wrong status");
  }
  judge_side_effects(wrong.argument, wrong.what);
}

static void judge_message(Wrong wrong, const htone_error_info* info) {
  const size_t length = strlen(function_name);
  const int named = strncmp(info->message, function_name, length) == 0 && strncmp(info->message + length, ": ", 2) == 0;
  if (!named) {
    report(wrong.argument, wrong.what, "the message does not begin with the function");
  } else if (strstr(info->message + length, wrong.argument) == NULL) {
    report(wrong.argument, wrong.what, "the message does not name the argument");
  } else if (strstr(info->message + length, wrong.text) == NULL) {
    report(wrong.argument, wrong.what, "the message does not name the field");
  } else if (strchr(info->message, '\n') != NULL) {
    report(wrong.argument, wrong.what, "the message has more than one line");
  } else if (info->argument_index != wrong.index) {
    report(wrong.argument, wrong.what, "wrong argument_index");
  } else {
    return;
  }
  print_error("    message \"%s\", argument_index %d\n", info->message, (int)info->argument_index);
}

void refused(Wrong wrong, htone_status actual) {
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  refused_silently(wrong, actual);
  if (actual != wrong.expected) return;
  if (info.status != actual) report(wrong.argument, wrong.what, "htone_error_last tells another status");
  judge_message(wrong, &info);
}

void accepted(const char* what, htone_status actual) {
  if (actual == HTONE_OK) return;
  htone_error_info info = {.struct_size = sizeof info};
  htone_error_last(&info);
  print_error("%s with %s: %s\n", function_name, what, info.message);
  ++failures;
}

/* Patterns that programs really hold where a handle should be. */
static const uint64_t kPatterns[] = {
    ~UINT64_C(0),
    1,
    8,
    UINT64_C(0xdeadbeef),
    UINT64_C(0x8000000000000000),
    UINT64_C(0x7fffffffffffffff),
    UINT64_C(0xcccccccccccccccc),
    UINT64_C(0xffffffff00000000),
    UINT64_C(0x0123456789abcdef),
    UINT64_C(0xaaaaaaaa55555555),
};

BadHandle bad_handle(HandleKind kind, size_t i) {
  static int on_no_stack;
  void* const own[kHandleKinds] = {fixture.context,  fixture.device,  fixture.tensor,    fixture.scope,
                                   fixture.policy,   fixture.module,  fixture.parameter, fixture.optimizer,
                                   fixture.schedule, fixture.scaler, fixture.sampler,   fixture.batches};
  const BadHandle singles[] = {
      {"NULL", NULL},
      {"released", released[kind]},
      {"released, its slot in use", reused[kind]},
      {"released, of another type", released[(kind + 1) % kHandleKinds]},
      {"an address on the stack", &i},
      {"an address of data", &on_no_stack},
      {"an address of the heap", results},
      {"itself and 1", (void*)((uintptr_t)own[kind] + 1)},
      {"itself in the upper half", (void*)((uintptr_t)own[kind] << 32)},
      {"itself with another upper bit", (void*)((uintptr_t)own[kind] ^ ((uintptr_t)1 << 62))},
  };
  if (i < COUNT_OF(singles)) return singles[i];
  i -= COUNT_OF(singles);
  if (i < COUNT_OF(kPatterns)) return (BadHandle){"a random value", (void*)(uintptr_t)kPatterns[i]};
  i -= COUNT_OF(kPatterns);
  if (i >= kHandleKinds - 1) return (BadHandle){NULL, NULL};
  return (BadHandle){"of another type", own[((size_t)kind + 1 + i) % kHandleKinds]};
}

void a_million_random_handles_are_refused(void** state) {
  (void)state;
  uint64_t bits = UINT64_C(0x9e3779b97f4a7c15);
  int wrong = 0;
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 2);
  for (int i = 0; i < 1000000; ++i) {
    htone_dtype dtype = 77;
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    if ((void*)(uintptr_t)bits == (void*)tensor) continue;
    wrong += htone_tensor_dtype((htone_tensor*)(uintptr_t)bits, &dtype) != HTONE_INVALID_HANDLE || dtype != 77;
  }
  assert_int_equal(wrong, 0);
}
