#include "misuse_fixture.h"

#include <stdio.h>
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
  assert_ok(htone_norm_options_init(&fixture.norm_options));
  assert_ok(htone_batch_norm_options_init(&fixture.batch_norm_options));
  assert_ok(htone_linear_options_init(&fixture.linear_options));
  assert_ok(htone_load_options_init(&fixture.load_options));
  assert_ok(htone_conv_options_init(&fixture.conv_options));
  assert_ok(htone_pool_options_init(&fixture.pool_options));
  assert_ok(htone_embedding_options_init(&fixture.embedding_options));
  assert_ok(htone_adamw_options_init(&fixture.adamw_options));
  assert_ok(htone_lion_options_init(&fixture.lion_options));
  assert_ok(htone_sgd_options_init(&fixture.sgd_options));
  assert_ok(htone_ema_options_init(&fixture.ema_options));
  assert_ok(htone_sampler_options_init(&fixture.sampler_options));
  assert_ok(htone_cross_entropy_options_init(&fixture.cross_entropy_options));
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
  htone_parameters* parameters;
  htone_state_dict* state_dict;
  htone_optimizer* optimizer;
  htone_schedule* schedule;
  htone_grad_scaler* scaler;
  htone_ema* ema;
  htone_sampler* sampler;
  htone_batches* batches;
  htone_checkpoint* checkpoint;
  htone_function* function;
  htone_hook* hook;
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
    case kParametersHandle:
      assert_ok(htone_parameters_create_from_module(fixture.free_module, &made.parameters));
      break;
    case kStateDictHandle:
      assert_ok(htone_module_state_dict(fixture.module, &made.state_dict));
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
    case kEmaHandle:
      assert_ok(htone_ema_create(fixture.parameters, NULL, &made.ema));
      break;
    case kSamplerHandle:
      assert_ok(htone_sampler_create(&fixture.sampler_options, &made.sampler));
      break;
    case kBatchesHandle:
      assert_ok(htone_batches_create(fixture.sampler, 1, &rows, &made.batches));
      break;
    case kCheckpointHandle:
      assert_ok(htone_checkpoint_create(fixture.context, fixture.free_directory, &made.checkpoint));
      break;
    case kFunctionHandle:
      assert_ok(htone_function_create("square", no_backward, NULL, NULL, &made.function));
      break;
    case kHookHandle:
      assert_ok(htone_module_add_forward_pre_hook(fixture.module, no_forward, NULL, NULL, &made.hook));
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
    case kParametersHandle:
      return htone_parameters_release(handle);
    case kStateDictHandle:
      return htone_state_dict_release(handle);
    case kOptimizerHandle:
      return htone_optimizer_release(handle);
    case kScheduleHandle:
      return htone_schedule_release(handle);
    case kGradScalerHandle:
      return htone_grad_scaler_release(handle);
    case kEmaHandle:
      return htone_ema_release(handle);
    case kSamplerHandle:
      return htone_sampler_release(handle);
    case kBatchesHandle:
      return htone_batches_release(handle);
    case kCheckpointHandle:
      return htone_checkpoint_release(handle);
    case kFunctionHandle:
      return htone_function_release(handle);
    case kHookHandle:
      return htone_hook_release(handle);
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

htone_status no_backward(const htone_backward_call* call, void* user) {
  (void)call, (void)user;
  return HTONE_OK;
}
htone_status no_forward(htone_module* module, htone_tensor* input, htone_tensor** out, void* user) {
  (void)module, (void)input, (void)out, (void)user;
  return HTONE_OK;
}
htone_status no_forward_hook(htone_module* module, htone_tensor* input, htone_tensor* output, htone_tensor** out_output,
                             void* user) {
  (void)module, (void)input, (void)output, (void)out_output, (void)user;
  return HTONE_OK;
}
htone_status no_gradient_hook(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  (void)gradient, (void)out_gradient, (void)user;
  return HTONE_OK;
}
htone_status no_parameter_hook(htone_parameter* parameter, void* user) {
  (void)parameter, (void)user;
  return HTONE_OK;
}

static void make_tensors(void) {
  fixture.leaf = leaf(make_ramp(HTONE_F32, 2, 2, 2));
  fixture.loss = sum_of(apply2(htone_mul, fixture.leaf, fixture.leaf));
  fixture.gradient = make_scalar(HTONE_F32, 1);
  fixture.targets = make_ramp(HTONE_I64, 1, 2);
  fixture.mask = make_ramp(HTONE_BOOL, 1, 2);
  fixture.bias = make_ramp(HTONE_F32, 1, 2);
  fixture.lines = make_ramp(HTONE_F32, 3, 2, 2, 2);
  fixture.images = make_ramp(HTONE_F32, 4, 2, 2, 2, 2);
  assert_ok(htone_tensor_backward(fixture.loss, NULL, 1));
}

/* Without a deleter, so that each of many calls may take it over. */
static void make_loans(void) {
  static float scalar = 1;
  const DLTensor array = {.data = &scalar, .device = {kDLCPU, 0}, .dtype = {kDLFloat, 32, 1}};
  fixture.managed = (DLManagedTensorVersioned){.version = {1, 0}, .dl_tensor = array};
  fixture.old_managed = (DLManagedTensor){.dl_tensor = array};
}

void end_loan(DLManagedTensorVersioned* managed) { managed->deleter(managed); }
void end_old_loan(DLManagedTensor* managed) { managed->deleter(managed); }

static htone_parameters* make_spare_parameters(void) {
  htone_module* module = NULL;
  htone_parameters* made = NULL;
  assert_ok(htone_module_create_linear(fixture.device, 2, 2, NULL, &module));
  assert_ok(htone_parameters_create_from_module(module, &made));
  assert_ok(htone_module_release(module));
  return made;
}

htone_parameters* renew_spare_parameters(void) {
  assert_ok(htone_parameters_release(fixture.spare_parameters));
  fixture.spare_parameters = make_spare_parameters();
  return fixture.spare_parameters;
}

/* One of each kind that `optimizer` is not. */
static void make_other_optimizers(void) {
  htone_parameters* parameters = make_spare_parameters();
  assert_ok(htone_optimizer_create_sgd_over(parameters, NULL, &fixture.sgd_optimizer));
  keep_optimizer(fixture.sgd_optimizer);
  assert_ok(htone_parameters_release(parameters));
  parameters = make_spare_parameters();
  assert_ok(htone_optimizer_create_adam_over(parameters, NULL, &fixture.adam_optimizer));
  keep_optimizer(fixture.adam_optimizer);
  assert_ok(htone_parameters_release(parameters));
  parameters = make_spare_parameters();
  assert_ok(htone_optimizer_create_lion_over(parameters, NULL, &fixture.lion_optimizer));
  keep_optimizer(fixture.lion_optimizer);
  assert_ok(htone_parameters_release(parameters));
}

static htone_checkpoint* make_checkpoint(void) {
  static int count;
  char directory[300];
  htone_checkpoint* checkpoint = NULL;
  snprintf(directory, sizeof directory, "%s/%d", test_folder(), count++);
  assert_ok(htone_checkpoint_create(fixture.context, directory, &checkpoint));
  return checkpoint;
}

htone_checkpoint* renew_checkpoint(void) {
  assert_ok(htone_checkpoint_release(fixture.checkpoint));
  fixture.checkpoint = make_checkpoint();
  return fixture.checkpoint;
}

static void make_files(void) {
  snprintf(fixture.free_directory, sizeof fixture.free_directory, "%s/free", test_folder());
  snprintf(fixture.safetensors_path, sizeof fixture.safetensors_path, "%s/file", test_folder());
  assert_ok(htone_safetensors_save(fixture.context, fixture.safetensors_path, fixture.state_dict));
  fixture.checkpoint = make_checkpoint();
}

static void make_objects(void) {
  fixture.context = test_context();
  fixture.device = test_device();
  fixture.tensor = keep_tensor(make_object(kTensorHandle));
  fixture.policy = keep_policy(make_object(kPolicyHandle));
  fixture.module = keep_module(make_object(kModuleHandle));
  assert_ok(htone_module_create_batch_norm_1d(fixture.device, 2, NULL, &fixture.buffered_module));
  keep_module(fixture.buffered_module);
  fixture.free_module = keep_module(make_object(kModuleHandle));
  fixture.parameter = parameter_of(fixture.module, 0);
  fixture.state_dict = keep_state_dict(make_object(kStateDictHandle));
  fixture.parameters = keep_parameters(make_object(kParametersHandle));
  assert_ok(htone_optimizer_create_adamw(fixture.module, NULL, &fixture.optimizer));
  keep_optimizer(fixture.optimizer);
  make_other_optimizers();
  fixture.spare_parameters = make_spare_parameters();
  fixture.schedule = keep_schedule(make_object(kScheduleHandle));
  fixture.scaler = keep_grad_scaler(make_object(kGradScalerHandle));
  fixture.ema = keep_ema(make_object(kEmaHandle));
  fixture.sampler = keep_sampler(make_object(kSamplerHandle));
  fixture.batches = keep_batches(make_object(kBatchesHandle));
  assert_ok(htone_batches_next(fixture.batches));
  fixture.function = keep_function(make_object(kFunctionHandle));
  fixture.hook = keep_hook(make_object(kHookHandle));
  assert_ok(htone_module_create_custom(no_forward, NULL, NULL, &fixture.custom_module));
  keep_module(fixture.custom_module);
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

htone_status constant_factor(int64_t position, double* out_factor, void* user) {
  (void)position;
  (void)user;
  *out_factor = 1;
  return HTONE_OK;
}

void begin_misuse(const char* function) {
  function_name = function;
  failures = 0;
  make_options();
  make_objects();
  make_tensors();
  make_loans();
  make_files();
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
  assert_ok(htone_checkpoint_release(fixture.checkpoint));
  assert_ok(htone_parameters_release(fixture.spare_parameters));
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
  void* const own[kHandleKinds] = {fixture.context,    fixture.device,    fixture.tensor,    fixture.scope,
                                   fixture.policy,     fixture.module,    fixture.parameter, fixture.parameters,
                                   fixture.state_dict, fixture.optimizer, fixture.schedule,  fixture.scaler,
                                   fixture.ema,        fixture.sampler,   fixture.batches,   fixture.checkpoint,
                                   fixture.function,   fixture.hook};
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

/* A2 */
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
