#include <math.h>

#include "misuse_fixture.h"

typedef union Handle {
  void* any;
  htone_context* context;
  htone_device* device;
  htone_tensor* tensor;
  htone_scope* scope;
  htone_scope_stack* scope_stack;
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
  htone_store* store;
  htone_group* group;
  htone_work* work;
  htone_ddp* ddp;
  htone_fsdp* fsdp;
  htone_recipe* recipe;
  htone_graph* graph;
  htone_scaled* scaled;
  htone_statistics* statistics;
  htone_trainer* trainer;
} Handle;

htone_batches* make_ordered_batches(void) {
  htone_sampler* sampler;
  htone_batches* batches;
  htone_tensor* rows = fixture.tensor;
  assert_ok(htone_sampler_create(&fixture.sampler_options, &sampler));
  assert_ok(htone_batches_create(sampler, 1, &rows, &batches));
  assert_ok(htone_sampler_release(sampler));
  return batches;
}

static htone_trainer* make_trainer(void) {
  htone_module* module;
  htone_trainer* trainer;
  htone_batches* batches = make_ordered_batches();
  assert_ok(htone_module_create_linear(fixture.device, 2, 2, NULL, &module));
  assert_ok(htone_trainer_create(module, batches, NULL, &trainer));
  assert_ok(htone_batches_release(batches));
  assert_ok(htone_module_release(module));
  return trainer;
}

void* make_object(HandleKind kind) {
  Handle made = {NULL};
  htone_tensor *rows = fixture.tensor, *result = NULL;
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
    case kScopeStackHandle:
      assert_ok(htone_scope_stack_create(&made.scope_stack));
      break;
    case kPolicyHandle:
      assert_ok(htone_autocast_policy_create(HTONE_BF16, &made.policy));
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
      assert_ok(htone_optimizer_create(fixture.free_module, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT,
                                       &made.optimizer));
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
    case kStoreHandle:
      assert_ok(htone_store_create_memory(fixture.context, &made.store));
      break;
    case kGroupHandle:
      assert_ok(htone_group_create(fixture.device, "single", NULL, NULL, &made.group));
      break;
    case kWorkHandle:
      assert_ok(htone_group_barrier(fixture.group, &made.work));
      break;
    case kDdpHandle:
      assert_ok(htone_ddp_create(fixture.free_module, fixture.group, NULL, &made.ddp));
      break;
    case kFsdpHandle:
      assert_ok(htone_fsdp_create(renew_whole_module(), fixture.group, NULL, NULL, &made.fsdp));
      break;
    case kRecipeHandle:
      assert_ok(htone_recipe_create(HTONE_RECIPE_MXFP8, NULL, &made.recipe));
      break;
    case kGraphHandle:
      assert_ok(htone_graph_capture(fixture.device, no_step, NULL, NULL, &made.graph));
      break;
    case kScaledHandle:
      /* Only the NV layouts have a scale of the tensor. */
      assert_ok(htone_scaled_create(fixture.tensor,
                                    &(htone_scaled_options){sizeof(htone_scaled_options), HTONE_SCALE_LAYOUT_NV_1X16,
                                                            HTONE_FORMAT_E2M1, 0, 0, 0, 0, 0},
                                    NULL, NULL, &made.scaled));
      break;
    case kStatisticsHandle:
      assert_ok(htone_statistics_create(fixture.device, NULL, &made.statistics));
      assert_ok(htone_statistics_watch(made.statistics, fixture.module, NULL, NULL));
      assert_ok(htone_statistics_begin_step(made.statistics));
      assert_ok(htone_module_forward(fixture.module, rows, NULL, &result));
      assert_ok(htone_tensor_release(result));
      assert_ok(htone_statistics_end_step(made.statistics, NAN, 1));
      break;
    case kTrainerHandle:
      made.trainer = make_trainer();
      break;
    case kHandleKinds:
      break;
  }
  return made.any;
}

htone_status release_object(HandleKind kind, void* handle) {
  switch (kind) {
    case kContextHandle:
      return htone_context_release(handle);
    case kDeviceHandle:
      return htone_device_release(handle);
    case kTensorHandle:
      return htone_tensor_release(handle);
    case kScopeHandle:
      return htone_scope_end(handle);
    case kScopeStackHandle:
      return htone_scope_stack_release(handle);
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
    case kStoreHandle:
      return htone_store_release(handle);
    case kGroupHandle:
      return htone_group_release(handle);
    case kWorkHandle:
      return htone_work_release(handle);
    case kDdpHandle:
      return htone_ddp_release(handle);
    case kFsdpHandle:
      return htone_fsdp_release(handle);
    case kRecipeHandle:
      return htone_recipe_release(handle);
    case kGraphHandle:
      return htone_graph_release(handle);
    case kScaledHandle:
      return htone_scaled_release(handle);
    case kStatisticsHandle:
      return htone_statistics_release(handle);
    case kTrainerHandle:
      return htone_trainer_release(handle);
    case kHandleKinds:
      break;
  }
  return HTONE_ERROR_INTERNAL;
}
