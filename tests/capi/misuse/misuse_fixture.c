#include "misuse_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

Fixture fixture;

static htone_status no_set(void* user, const char* key, const void* data, size_t size) {
  (void)user, (void)key, (void)data, (void)size;
  return HTONE_OK;
}
static htone_status no_get(void* user, const char* key, double timeout_seconds, void* out, size_t capacity,
                           size_t* out_size) {
  (void)user, (void)key, (void)timeout_seconds, (void)out, (void)capacity;
  *out_size = 0;
  return HTONE_OK;
}
static htone_status no_add(void* user, const char* key, int64_t amount, int64_t* out_sum) {
  (void)user, (void)key;
  *out_sum = amount;
  return HTONE_OK;
}
static htone_status no_compare_set(void* user, const char* key, const void* expected, size_t expected_size,
                                   const void* desired, size_t desired_size, int32_t* out_swapped) {
  (void)user, (void)key, (void)expected, (void)expected_size, (void)desired, (void)desired_size;
  *out_swapped = 0;
  return HTONE_OK;
}
static htone_status no_remove(void* user, const char* key, int32_t* out_existed) {
  (void)user, (void)key;
  *out_existed = 0;
  return HTONE_OK;
}

static void make_store_functions(void) {
  assert_ok(htone_store_functions_init(&fixture.store_functions));
  fixture.store_functions.set = no_set;
  fixture.store_functions.get = no_get;
  fixture.store_functions.add = no_add;
  fixture.store_functions.compare_set = no_compare_set;
  fixture.store_functions.remove = no_remove;
}

static void make_options(void) {
  assert_ok(htone_context_options_init(&fixture.context_options));
  assert_ok(htone_norm_options_init(&fixture.norm_options));
  assert_ok(htone_batch_norm_options_init(&fixture.batch_norm_options));
  assert_ok(htone_linear_options_init(&fixture.linear_options));
  assert_ok(htone_load_options_init(&fixture.load_options));
  assert_ok(htone_optimizer_load_options_init(&fixture.optimizer_load_options));
  assert_ok(htone_attention_options_init(&fixture.attention_options));
  assert_ok(htone_rotary_options_init(&fixture.rotary_options));
  assert_ok(htone_round_options_init(&fixture.round_options));
  assert_ok(htone_conv_options_init(&fixture.conv_options));
  assert_ok(htone_conv3d_options_init(&fixture.conv3d_options));
  assert_ok(htone_pool_options_init(&fixture.pool_options));
  assert_ok(htone_pool3d_options_init(&fixture.pool3d_options));
  assert_ok(htone_unfold_options_init(&fixture.unfold_options));
  assert_ok(htone_embedding_options_init(&fixture.embedding_options));
  assert_ok(htone_custom_options_init(&fixture.custom_options));
  assert_ok(htone_multihead_attention_options_init(&fixture.multihead_attention_options));
  assert_ok(htone_transformer_options_init(&fixture.transformer_options));
  fixture.transformer_options.vocabulary = 3;
  fixture.transformer_options.positions = 2;
  fixture.transformer_options.layers = 1;
  fixture.transformer_options.width = 4;
  fixture.transformer_options.heads = 2;
  assert_ok(htone_generate_options_init(&fixture.generate_options));
  fixture.generate_options.new_tokens = 1;
  fixture.generate_options.context = 2;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &fixture.optimizer_options));
  assert_ok(htone_ema_options_init(&fixture.ema_options));
  assert_ok(htone_recipe_options_init(&fixture.recipe_options));
  assert_ok(htone_norm_guard_options_init(&fixture.norm_guard_options));
  assert_ok(htone_sampler_options_init(&fixture.sampler_options));
  assert_ok(htone_cross_entropy_options_init(&fixture.cross_entropy_options));
  fixture.sampler_options.count = 2;
  fixture.sampler_options.batch_size = 2;
  assert_ok(htone_grad_scaler_options_init(&fixture.grad_scaler_options));
  fixture.grad_scaler_state =
      (htone_scaler_state){.struct_size = sizeof fixture.grad_scaler_state, .hysteresis_left = 1, .scale = 1024};
  fixture.generator_state = (htone_generator_state){.struct_size = sizeof fixture.generator_state, .seed = 7};
  assert_ok(htone_one_cycle_options_init(&fixture.one_cycle_options));
  fixture.one_cycle_options.total_steps = 10;
  assert_ok(htone_plateau_options_init(&fixture.plateau_options));
  assert_ok(htone_gradients_options_init(&fixture.gradients_options));
  fixture.gradients_options.retain_graph = 1;
  assert_ok(htone_recurrent_options_init(&fixture.recurrent_options));
  assert_ok(htone_histogram_init(&fixture.histogram));
  assert_ok(htone_scaled_options_init(&fixture.scaled_options));
  assert_ok(htone_trace_options_init(&fixture.trace_options));
  assert_ok(htone_statistics_options_init(&fixture.statistics_options));
  assert_ok(htone_trainer_options_init(&fixture.trainer_options));
  assert_ok(htone_monitor_options_init(&fixture.monitor_options));
  assert_ok(htone_group_options_init(&fixture.group_options));
  assert_ok(htone_link_cost_init(&fixture.link_cost));
  assert_ok(htone_ddp_options_init(&fixture.ddp_options));
  assert_ok(htone_fsdp_options_init(&fixture.fsdp_options));
  assert_ok(htone_tcp_store_options_init(&fixture.tcp_store_options));
  make_store_functions();
}

htone_status no_reduction(htone_tensor* bucket, size_t index, void* user) {
  (void)bucket, (void)index, (void)user;
  return HTONE_OK;
}

htone_status no_backward(const htone_backward_call* call, void* user) {
  (void)call, (void)user;
  return HTONE_OK;
}
htone_status no_forward(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  return HTONE_OK;
}
/* The outputs are the inputs. */
static htone_status forward_inputs(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)user;
  for (size_t i = 0; i < call->output_count; ++i) {
    const htone_status status = htone_tensor_retain(call->inputs[i]);
    if (status != HTONE_OK) return status;
    call->out_tensors[i] = call->inputs[i];
  }
  return HTONE_OK;
}
htone_status no_forward_hook(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
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

htone_status no_step(void* user) {
  (void)user;
  return HTONE_OK;
}

htone_status no_trainer_step(int64_t step, void* user) {
  (void)step, (void)user;
  return HTONE_OK;
}

htone_status no_load(size_t index_count, const int64_t* indices, void* const* out_rows, void* user) {
  (void)index_count, (void)indices, (void)out_rows, (void)user;
  return HTONE_OK;
}

static void make_recurrent(void) {
  assert_ok(htone_module_create_lstm(fixture.device, 2, 2, NULL, &fixture.lstm_module));
  keep_module(fixture.lstm_module);
  assert_ok(htone_module_create_gru(fixture.device, 2, 2, NULL, &fixture.gru_module));
  keep_module(fixture.gru_module);
  fixture.cell_states = make_ramp(HTONE_F32, 3, 1, 2, 2);
  fixture.lstm_weight = make_ramp(HTONE_F32, 2, 8, 2);
  fixture.lstm_bias = make_ramp(HTONE_F32, 1, 8);
  fixture.gru_weight = make_ramp(HTONE_F32, 2, 6, 2);
  fixture.gru_bias = make_ramp(HTONE_F32, 1, 6);
}

static void make_tensors(void) {
  fixture.leaf = leaf(make_ramp(HTONE_F32, 2, 2, 2));
  fixture.loss = sum_of(apply2(htone_mul, fixture.leaf, fixture.leaf));
  fixture.gradient = make_scalar(HTONE_F32, 1);
  fixture.targets = make_ramp(HTONE_I64, 1, 2);
  fixture.tokens = make_ramp(HTONE_I64, 1, 3);
  fixture.prompt = make_ramp(HTONE_I64, 2, 1, 2);
  fixture.mask = make_ramp(HTONE_BOOL, 1, 2);
  fixture.bytes8 = make_ramp(HTONE_F8E4M3, 2, 2, 2);
  fixture.number = make_ramp(HTONE_F32, 1, 1);
  fixture.amax = make_ramp(HTONE_F32, 1, 1);
  fixture.bias = make_ramp(HTONE_F32, 1, 2);
  fixture.lines = make_ramp(HTONE_F32, 3, 2, 2, 2);
  fixture.images = make_ramp(HTONE_F32, 4, 2, 2, 2, 2);
  fixture.labels = make_ramp(HTONE_I64, 2, 2, 1);
  fixture.blocks = make_ramp(HTONE_F32, 3, 4, 2, 2);
  fixture.columns = make_ramp(HTONE_F32, 3, 2, 4, 1);
  fixture.volumes = make_ramp(HTONE_F32, 5, 2, 2, 2, 2, 2);
  assert_ok(htone_tensor_backward(fixture.loss, NULL, 1));
}

/* Has no deleter, so many calls may take it over. */
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

htone_module* renew_whole_module(void) {
  assert_ok(htone_module_release(fixture.whole_module));
  assert_ok(htone_module_create_linear(fixture.device, 2, 3, NULL, &fixture.whole_module));
  return fixture.whole_module;
}

htone_trainer* renew_trainer(void) {
  assert_ok(htone_trainer_release(fixture.trainer));
  fixture.trainer = make_object(kTrainerHandle);
  return fixture.trainer;
}

htone_state_dict* renew_optimizer_state(void) {
  assert_ok(htone_state_dict_release(fixture.optimizer_state));
  assert_ok(htone_optimizer_state_dict(fixture.optimizer, &fixture.optimizer_state));
  return fixture.optimizer_state;
}

htone_group* renew_group(void) {
  assert_ok(htone_group_release(fixture.group));
  fixture.group = make_object(kGroupHandle);
  return fixture.group;
}

void mark_gradients(void) {
  htone_tensor* const gradients[] = {fixture.tensor, fixture.bias};
  for (size_t i = 0; i < COUNT_OF(gradients); ++i) {
    htone_parameter* parameter = NULL;
    assert_ok(htone_parameters_at(fixture.parameters, i, &parameter));
    assert_ok(htone_parameter_set_grad(parameter, gradients[i]));
    assert_ok(htone_ddp_mark_ready(fixture.ddp, parameter));
    assert_ok(htone_parameter_release(parameter));
  }
}

void mark_sharded_gradients(void) {
  const int64_t shape[] = {3, 2};
  for (size_t i = 0; i < 2; ++i) {
    htone_parameter* parameter = NULL;
    htone_tensor* gradient = NULL;
    assert_ok(htone_parameters_at(fixture.sharded_parameters, i, &parameter));
    assert_ok(htone_tensor_create_zeros(fixture.device, HTONE_F32, i == 0 ? 2 : 1, shape, &gradient));
    assert_ok(htone_parameter_set_grad(parameter, gradient));
    assert_ok(htone_fsdp_mark_ready(fixture.fsdp, parameter));
    assert_ok(htone_tensor_release(gradient));
    assert_ok(htone_parameter_release(parameter));
  }
}

static void make_files(void) {
  snprintf(fixture.free_directory, sizeof fixture.free_directory, "%s/free", test_folder());
  snprintf(fixture.trace_path, sizeof fixture.trace_path, "%s/trace", test_folder());
  snprintf(fixture.safetensors_path, sizeof fixture.safetensors_path, "%s/file", test_folder());
  assert_ok(htone_state_dict_set_text(fixture.state_dict, "format", "halftone"));
  assert_ok(htone_safetensors_save(fixture.context, fixture.safetensors_path, fixture.state_dict));
  assert_ok(htone_safetensors_save_memory(fixture.state_dict, fixture.safetensors_bytes,
                                          sizeof fixture.safetensors_bytes, &fixture.safetensors_size));
  fixture.checkpoint = make_checkpoint();
}

htone_checkpoint* renew_loaded_checkpoint(void) {
  int64_t step = -1;
  renew_checkpoint();
  assert_ok(htone_checkpoint_add_optimizer(fixture.checkpoint, "optimizer", fixture.optimizer));
  assert_ok(htone_checkpoint_save(fixture.checkpoint, 0));
  assert_ok(htone_checkpoint_load(fixture.checkpoint, &step));
  return fixture.checkpoint;
}

/* Each test makes and destroys checkpoints, and each sync of a busy disk takes long, so the folder is in memory if the
 * system has such a place. */
static void use_folder_in_memory(void) {
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
}

static void make_objects(void) {
  use_folder_in_memory();
  fixture.context = test_context();
  fixture.device = test_device();
  fixture.tensor = keep_tensor(make_object(kTensorHandle));
  fixture.stack = make_object(kScopeStackHandle);
  fixture.policy = keep_policy(make_object(kPolicyHandle));
  fixture.module = keep_module(make_object(kModuleHandle));
  assert_ok(htone_module_create_batch_norm1d(fixture.device, 2, NULL, &fixture.buffered_module));
  keep_module(fixture.buffered_module);
  fixture.parent_module = make_sequential(1, &fixture.module);
  fixture.free_module = keep_module(make_object(kModuleHandle));
  fixture.parameter = parameter_of(fixture.module, 0);
  fixture.bias_parameter = parameter_of(fixture.module, 1);
  fixture.state_dict = keep_state_dict(make_object(kStateDictHandle));
  fixture.parameters = keep_parameters(make_object(kParametersHandle));
  assert_ok(htone_optimizer_create(fixture.module, NULL, &fixture.optimizer));
  keep_optimizer(fixture.optimizer);
  assert_ok(htone_optimizer_state_dict(fixture.optimizer, &fixture.optimizer_state));
  fixture.spare_parameters = make_spare_parameters();
  fixture.schedule = keep_schedule(make_object(kScheduleHandle));
  assert_ok(htone_schedule_create_plateau(NULL, &fixture.plateau_schedule));
  keep_schedule(fixture.plateau_schedule);
  fixture.scaler = keep_grad_scaler(make_object(kGradScalerHandle));
  fixture.ema = keep_ema(make_object(kEmaHandle));
  fixture.sampler = keep_sampler(make_object(kSamplerHandle));
  fixture.batches = keep_batches(make_object(kBatchesHandle));
  assert_ok(htone_batches_next(fixture.batches));
  fixture.function = keep_function(make_object(kFunctionHandle));
  fixture.hook = keep_hook(make_object(kHookHandle));
  fixture.store = keep_store(make_object(kStoreHandle));
  fixture.group = make_object(kGroupHandle);
  fixture.work = keep_work(make_object(kWorkHandle));
  fixture.ddp = make_object(kDdpHandle);
  fixture.whole_module = NULL; /* that of the test before is gone */
  fixture.fsdp = make_object(kFsdpHandle);
  fixture.recipe = make_object(kRecipeHandle);
  fixture.graph = keep_graph(make_object(kGraphHandle));
  fixture.scaled = keep_scaled(make_object(kScaledHandle));
  fixture.statistics = keep_statistics(make_object(kStatisticsHandle));
  fixture.trainer = make_object(kTrainerHandle);
  fixture.own_batches = keep_batches(make_ordered_batches());
  assert_ok(htone_state_dict_create(&fixture.scaled_state));
  keep_state_dict(fixture.scaled_state);
  assert_ok(htone_scaled_save(fixture.scaled, fixture.scaled_state, "codes8"));
  assert_ok(htone_parameters_create_from_module(fixture.whole_module, &fixture.sharded_parameters));
  assert_ok(htone_module_create_custom(no_forward, NULL, NULL, NULL, &fixture.custom_module));
  keep_module(fixture.custom_module);
  assert_ok(htone_module_create_custom(no_forward, NULL, NULL, NULL, &fixture.counting_module));
  keep_module(fixture.counting_module);
  assert_ok(htone_module_add_buffer(fixture.counting_module, "seen", make_scalar(HTONE_F32, 0)));
  const htone_custom_options two = {sizeof two, 2, 2, 2, 0};
  assert_ok(htone_module_create_custom(forward_inputs, NULL, NULL, &two, &fixture.pair_module));
  keep_module(fixture.pair_module);
  assert_ok(htone_module_create_transformer(fixture.device, &fixture.transformer_options, &fixture.language_model));
  keep_module(fixture.language_model);
  backward(sum_of(forward(fixture.module, fixture.tensor)));
}

htone_status constant_factor(int64_t position, double* out_factor, void* user) {
  (void)position;
  (void)user;
  *out_factor = 1;
  return HTONE_OK;
}

void make_fixture(void) {
  make_options();
  make_objects();
  make_tensors();
  make_recurrent();
  make_loans();
  make_files();
}

void begin_scope(void) { fixture.scope = make_object(kScopeHandle); }

void release_fixture(void) {
  assert_ok(htone_checkpoint_release(fixture.checkpoint));
  assert_ok(htone_parameters_release(fixture.spare_parameters));
  assert_ok(htone_state_dict_release(fixture.optimizer_state));
  assert_ok(htone_module_release(fixture.whole_module));
  assert_ok(htone_fsdp_release(fixture.fsdp));
  assert_ok(htone_parameters_release(fixture.sharded_parameters));
  assert_ok(htone_ddp_release(fixture.ddp));
  assert_ok(htone_group_release(fixture.group));
  assert_ok(htone_scope_end(fixture.scope));
  assert_ok(htone_scope_stack_release(fixture.stack));
  assert_ok(htone_recipe_release(fixture.recipe));
  assert_ok(htone_trainer_release(fixture.trainer));
}
