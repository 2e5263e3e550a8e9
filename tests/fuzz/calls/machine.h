/* The machine that the calls of api_calls_fuzz.c run on: it reads the input's bytes one after another, and has slots
 * for the handles that they name. One thread. */
#ifndef HALFTONE_TESTS_FUZZ_MACHINE_H
#define HALFTONE_TESTS_FUZZ_MACHINE_H

#include "memory_files.h"

enum { kMaxDims = 5, kSlots = 6, kMaxMade = 3 };

typedef enum Kind {
  kTensor,
  kModule,
  kParameter,
  kParameters,
  kOptimizer,
  kScaler,
  kSchedule,
  kPolicy,
  kStateDict,
  kSampler,
  kBatches,
  kEma,
  kFunction,
  kHook,
  kCheckpoint,
  kScaled,
  kStatistics,
  kKinds
} Kind;

/* A released handle stays in its slot, so a later call uses it again. */
typedef struct Slot {
  void* handle;
  int owned;
} Slot;

typedef struct Machine {
  const uint8_t *next, *end;
  htone_context* context;
  htone_device* device;
  Slot slots[kKinds][kSlots];
  htone_scope* scopes[2];       /* the outer scope first; NULL if there is none */
  htone_tensor* made[kMaxMade]; /* results of the running call; it stores them in slots afterwards */
} Machine;

/* Values: mostly valid arguments, sometimes invalid ones. 0 after the end of the input. */
uint8_t byte(Machine* machine);
int flag(Machine* machine);
int64_t integer(Machine* machine);
int64_t size_in(Machine* machine);
double number(Machine* machine);
htone_dtype dtype_in(Machine* machine);
int32_t shape_in(Machine* machine, int64_t shape[kMaxDims]);
const char* name_in(Machine* machine);
const char* path_in(Machine* machine);

/* Handles of the given kind, alive or released; sometimes NULL or of another kind. */
htone_tensor* tensor_in(Machine* machine);
htone_module* module_in(Machine* machine);
htone_parameter* parameter_in(Machine* machine);
htone_parameters* parameters_in(Machine* machine);
htone_optimizer* optimizer_in(Machine* machine);
htone_grad_scaler* scaler_in(Machine* machine);
htone_schedule* schedule_in(Machine* machine);
htone_autocast_policy* policy_in(Machine* machine);
htone_state_dict* state_dict_in(Machine* machine);
htone_sampler* sampler_in(Machine* machine);
htone_batches* batches_in(Machine* machine);
htone_ema* ema_in(Machine* machine);
htone_function* function_in(Machine* machine);
htone_hook* hook_in(Machine* machine);
htone_scaled* scaled_in(Machine* machine);
htone_statistics* statistics_in(Machine* machine);
htone_checkpoint* checkpoint_in(Machine* machine);

/* Stores the result of a call in a slot, which then owns it; returns `status`. */
htone_status keep(Machine* machine, Kind kind, htone_status status, void* handle);
/* Releases the handle in a slot, which may already be released. */
htone_status release_slot(Machine* machine, Kind kind, int slot);
/* Makes the first tensors, so that few bytes of input already do some work. */
void open_machine(Machine* machine, const uint8_t* data, size_t size);
/* Releases everything. */
void close_machine(Machine* machine);

#endif
