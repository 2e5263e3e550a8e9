/* The valid arguments of the generated misuse test: one object of every type, options, and callbacks. Main thread
 * only. */
#ifndef HALFTONE_TESTS_CAPI_MISUSE_FIXTURE_H
#define HALFTONE_TESTS_CAPI_MISUSE_FIXTURE_H

#include "common/dlpack_standard.h"
#include "test_modules.h"

/* Same order as the members of Fixture. */
typedef enum HandleKind {
  kContextHandle,
  kDeviceHandle,
  kTensorHandle,
  kScopeHandle,
  kScopeStackHandle,
  kPolicyHandle,
  kModuleHandle,
  kParameterHandle,
  kParametersHandle,
  kStateDictHandle,
  kOptimizerHandle,
  kScheduleHandle,
  kGradScalerHandle,
  kEmaHandle,
  kSamplerHandle,
  kBatchesHandle,
  kCheckpointHandle,
  kFunctionHandle,
  kHookHandle,
  kStoreHandle,
  kGroupHandle,
  kWorkHandle,
  kDdpHandle,
  kFsdpHandle,
  kRecipeHandle,
  kGraphHandle,
  kScaledHandle,
  kStatisticsHandle,
  kTrainerHandle,
  kHandleKinds
} HandleKind;

typedef struct Fixture {
  htone_context* context;
  htone_device* device;
  htone_tensor* tensor; /* [2, 2], f32 */
  htone_scope* scope;   /* the innermost scope of this thread */
  htone_scope_stack* stack;
  htone_autocast_policy* policy;
  htone_module* module; /* linear, owned by an optimizer, with gradients */
  htone_parameter* parameter;
  htone_parameters* parameters; /* those of free_module */
  htone_state_dict* state_dict; /* of `module` */
  htone_state_dict* optimizer_state;
  htone_optimizer* optimizer;
  htone_schedule* schedule;
  htone_grad_scaler* scaler;
  htone_sampler* sampler;       /* over 2 samples */
  htone_batches* batches;       /* one batch was taken */
  htone_checkpoint* checkpoint; /* over an empty directory */
  htone_ema* ema;               /* over the parameters */
  htone_function* function;
  htone_hook* hook; /* on `module` */
  htone_store* store;
  htone_group* group; /* of one rank */
  htone_work* work;   /* a barrier that is done */
  htone_ddp* ddp;     /* of free_module */
  htone_fsdp* fsdp;
  htone_recipe* recipe;
  htone_graph* graph; /* of a step that does nothing */
  htone_scaled* scaled;
  htone_trainer* trainer;         /* of a module of its own; no batch was fetched */
  htone_batches* own_batches;     /* with another sampler than `batches` and `trainer` */
  htone_statistics* statistics;   /* with one step, which was a spike, of a watched module */
  htone_state_dict* scaled_state; /* which has `scaled` as "codes8" */

  htone_tensor* leaf; /* with a gradient */
  htone_tensor* loss; /* a recorded scalar */
  htone_tensor* gradient;
  htone_tensor* targets; /* [2], i64 */
  htone_tensor* mask;    /* [2], bool */
  htone_tensor* bytes8;  /* [2, 2], f8e4m3 */
  htone_tensor* number;  /* [1], f32 */
  htone_tensor* amax;    /* [1], f32, to be written */
  htone_tensor* bias;    /* [2], f32 */
  htone_module* custom_module;
  htone_module* counting_module;    /* custom, with a buffer "seen" */
  htone_module* pair_module;        /* two inputs and two outputs */
  htone_module* language_model;     /* of three tokens */
  htone_parameter* bias_parameter;  /* of `module` */
  htone_module* free_module;        /* linear, without optimizer */
  DLManagedTensorVersioned managed; /* a scalar */
  DLManagedTensor old_managed;
  htone_tensor* lines;                  /* [2, 2, 2], f32 */
  htone_tensor* images;                 /* [2, 2, 2, 2], f32 */
  htone_tensor* labels;                 /* [2, 1], i64 */
  htone_tensor* blocks;                 /* [4, 2, 2], f32 */
  htone_tensor* columns;                /* [2, 4, 1], f32: of windows of 2 by 2 */
  htone_tensor* volumes;                /* [2, 2, 2, 2, 2], f32 */
  htone_parameters* sharded_parameters; /* those of fsdp */
  htone_module* whole_module;           /* that no ranks share; renewed before each call that shares it */
  htone_parameters* spare_parameters;   /* without an optimizer; renewed after each call that gives them one */
  htone_module* buffered_module;        /* batch norm */
  htone_module* parent_module;          /* sequential, with a linear layer as child "0" */
  htone_linear_options linear_options;
  htone_norm_options norm_options;
  htone_batch_norm_options batch_norm_options;
  htone_load_options load_options;
  htone_optimizer_load_options optimizer_load_options;
  htone_attention_options attention_options;
  htone_rotary_options rotary_options;
  htone_round_options round_options;
  htone_conv_options conv_options;
  htone_conv3d_options conv3d_options;
  htone_pool_options pool_options;
  htone_pool3d_options pool3d_options;
  htone_unfold_options unfold_options;
  htone_embedding_options embedding_options;
  htone_custom_options custom_options;
  htone_multihead_attention_options multihead_attention_options;
  htone_transformer_options transformer_options; /* of a tiny model */
  htone_generate_options generate_options;       /* one new token */
  htone_optimizer_options optimizer_options;
  htone_ema_options ema_options;
  htone_recipe_options recipe_options;
  htone_norm_guard_options norm_guard_options;
  htone_sampler_options sampler_options;
  htone_cross_entropy_options cross_entropy_options;
  htone_grad_scaler_options grad_scaler_options;
  htone_scaler_state grad_scaler_state;
  htone_histogram histogram;
  htone_context_options context_options;
  htone_generator_state generator_state;
  htone_one_cycle_options one_cycle_options;
  htone_plateau_options plateau_options;
  htone_gradients_options gradients_options; /* which retain the graph of `loss` */
  htone_recurrent_options recurrent_options;
  htone_scaled_options scaled_options;
  htone_trace_options trace_options;
  htone_statistics_options statistics_options;
  htone_trainer_options trainer_options;
  htone_monitor_options monitor_options;
  htone_group_options group_options;
  htone_ddp_options ddp_options;
  htone_fsdp_options fsdp_options;
  htone_store_functions store_functions; /* which return HTONE_OK */
  htone_tcp_store_options tcp_store_options;
  htone_link_cost link_cost;
  htone_schedule* plateau_schedule;
  htone_module* lstm_module; /* two features, two hidden */
  htone_module* gru_module;
  htone_tensor* cell_states;             /* [1, 2, 2], f32 */
  htone_tensor* lstm_weight;             /* [8, 2], f32 */
  htone_tensor* lstm_bias;               /* [8], f32 */
  htone_tensor* gru_weight;              /* [6, 2], f32 */
  htone_tensor* gru_bias;                /* [6], f32 */
  htone_tensor* prompt;                  /* [1, 2], i64 */
  htone_tensor* tokens;                  /* [3], i64: as many windows of one token as `sampler` has samples */
  unsigned char safetensors_bytes[1024]; /* state_dict as a file */
  size_t safetensors_size;
  char free_directory[256];   /* for checkpoints */
  char safetensors_path[256]; /* a file that holds state_dict */
  char trace_path[256];       /* for traces */
} Fixture;

extern Fixture fixture;

/* Makes everything except the scope. The scope must be the innermost one, so begin it last. */
void make_fixture(void);
void begin_scope(void);
/* Releases the objects that are not kept until the test ends. */
void release_fixture(void);

/* Makes one new object of a kind from the fixture's other objects, and releases one. */
void* make_object(HandleKind kind);
htone_status release_object(HandleKind kind, void* handle);

/* Batches of one tensor, with a sampler of their own. */
htone_batches* make_ordered_batches(void);

/* Replaces the spare parameters, which have an optimizer now, by new ones. */
htone_parameters* renew_spare_parameters(void);

/* Replaces the fixture's checkpoint by one over another empty directory. */
htone_checkpoint* renew_checkpoint(void);
/* Replaces it by one that has loaded the moments of the fixture's optimizer. */
htone_checkpoint* renew_loaded_checkpoint(void);
/* The state of `optimizer` now. */
htone_state_dict* renew_optimizer_state(void);

/* Replaces the fixture's group by a new one. */
htone_group* renew_group(void);
htone_module* renew_whole_module(void);
/* A new trainer, which has fetched no batch. */
htone_trainer* renew_trainer(void);

/* Gives the parameters gradients and marks them as ready. */
void mark_gradients(void);
/* Likewise for fixture.fsdp. */
void mark_sharded_gradients(void);

/* A caller's schedule. */
htone_status constant_factor(int64_t position, double* out_factor, void* user);

/* Callbacks that return HTONE_OK and change nothing. */
htone_status no_backward(const htone_backward_call* call, void* user);
htone_status no_reduction(htone_tensor* bucket, size_t index, void* user);
htone_status no_forward(htone_module* module, const htone_forward_call* call, void* user);
htone_status no_forward_hook(htone_module* module, const htone_forward_call* call, void* user);
htone_status no_gradient_hook(htone_tensor* gradient, htone_tensor** out_gradient, void* user);
htone_status no_parameter_hook(htone_parameter* parameter, void* user);
htone_status no_step(void* user);
htone_status no_trainer_step(int64_t step, void* user);
htone_status no_load(size_t index_count, const int64_t* indices, void* const* out_rows, void* user);

/* End a loan that the library made to the test. */
void end_loan(DLManagedTensorVersioned* managed);
void end_old_loan(DLManagedTensor* managed);

#endif
