#include "machine.h"

#include <float.h>
#include <math.h>
#include <string.h>

uint8_t byte(Machine* machine) { return machine->next < machine->end ? *machine->next++ : 0; }

int flag(Machine* machine) { return byte(machine) % 2; }

int64_t integer(Machine* machine) {
  static const int64_t odd[] = {INT64_MIN,        INT64_MAX,        INT32_MIN, INT32_MAX,
                                (int64_t)1 << 32, (int64_t)1 << 62, -8,        100};
  const uint8_t value = byte(machine);
  return value < 0xf0 ? value % 8 - 2 : odd[value % 8];
}

int64_t size_in(Machine* machine) {
  const uint8_t value = byte(machine);
  return value < 0xe0 ? value % 6 : integer(machine);
}

double number(Machine* machine) {
  static const double values[] = {0, 1, -1, 0.5, 1e-5, 1e30, DBL_MAX, 5e-324, -0.0, 3};
  const uint8_t value = byte(machine);
  if (value == 0xfe) return NAN;
  return value == 0xff ? INFINITY : values[value % 10];
}

htone_dtype dtype_in(Machine* machine) {
  const uint8_t value = byte(machine);
  return value < 0x80 ? value % 4 + 1 : value % 16 - 1;
}

int32_t shape_in(Machine* machine, int64_t shape[kMaxDims]) {
  const uint8_t count = byte(machine);
  for (int i = 0; i < kMaxDims; ++i) shape[i] = i < count % (kMaxDims + 1) ? size_in(machine) : 1;
  return count == 0xff ? INT32_MAX : count == 0xfe ? -1 : count % (kMaxDims + 1);
}

const char* name_in(Machine* machine) {
  static const char* const names[] = {"weight", "bias", "0.weight", "*",  "a",    "a.b",
                                      "?*",     "",     "\xff",     "\n", "../x", NULL};
  return names[byte(machine) % (sizeof names / sizeof *names)];
}

const char* path_in(Machine* machine) {
  static const char* const paths[] = {"f", "d/e", "", "run", "run/step-1/index.json", NULL};
  return paths[byte(machine) % (sizeof paths / sizeof *paths)];
}

static void* handle_in(Machine* machine, Kind kind) {
  const uint8_t value = byte(machine);
  if (value == 0xff) return NULL;
  return machine->slots[value == 0xfe ? (kind + 1) % kKinds : kind][value % kSlots].handle;
}

htone_tensor* tensor_in(Machine* machine) { return handle_in(machine, kTensor); }
htone_module* module_in(Machine* machine) { return handle_in(machine, kModule); }
htone_parameter* parameter_in(Machine* machine) { return handle_in(machine, kParameter); }
htone_parameters* parameters_in(Machine* machine) { return handle_in(machine, kParameters); }
htone_optimizer* optimizer_in(Machine* machine) { return handle_in(machine, kOptimizer); }
htone_grad_scaler* scaler_in(Machine* machine) { return handle_in(machine, kScaler); }
htone_schedule* schedule_in(Machine* machine) { return handle_in(machine, kSchedule); }
htone_autocast_policy* policy_in(Machine* machine) { return handle_in(machine, kPolicy); }
htone_state_dict* state_dict_in(Machine* machine) { return handle_in(machine, kStateDict); }
htone_sampler* sampler_in(Machine* machine) { return handle_in(machine, kSampler); }
htone_batches* batches_in(Machine* machine) { return handle_in(machine, kBatches); }
htone_ema* ema_in(Machine* machine) { return handle_in(machine, kEma); }
htone_function* function_in(Machine* machine) { return handle_in(machine, kFunction); }
htone_hook* hook_in(Machine* machine) { return handle_in(machine, kHook); }
htone_scaled* scaled_in(Machine* machine) { return handle_in(machine, kScaled); }
htone_statistics* statistics_in(Machine* machine) { return handle_in(machine, kStatistics); }
htone_checkpoint* checkpoint_in(Machine* machine) { return handle_in(machine, kCheckpoint); }

static htone_status release_handle(Kind kind, void* handle) {
  switch (kind) {
    case kTensor:
      return htone_tensor_release(handle);
    case kModule:
      return htone_module_release(handle);
    case kParameter:
      return htone_parameter_release(handle);
    case kParameters:
      return htone_parameters_release(handle);
    case kOptimizer:
      return htone_optimizer_release(handle);
    case kScaler:
      return htone_grad_scaler_release(handle);
    case kSchedule:
      return htone_schedule_release(handle);
    case kPolicy:
      return htone_autocast_policy_release(handle);
    case kStateDict:
      return htone_state_dict_release(handle);
    case kSampler:
      return htone_sampler_release(handle);
    case kBatches:
      return htone_batches_release(handle);
    case kEma:
      return htone_ema_release(handle);
    case kFunction:
      return htone_function_release(handle);
    case kHook:
      return htone_hook_release(handle);
    case kCheckpoint:
      return htone_checkpoint_release(handle);
    case kScaled:
      return htone_scaled_release(handle);
    case kStatistics:
      return htone_statistics_release(handle);
    case kKinds:
      break;
  }
  return HTONE_ERROR_INTERNAL;
}

htone_status release_slot(Machine* machine, Kind kind, int slot) {
  Slot* place = &machine->slots[kind][slot];
  const htone_status status = release_handle(kind, place->handle);
  require(place->owned || place->handle == NULL ? status == HTONE_OK : status == HTONE_ERROR_INVALID_HANDLE,
          "a release succeeds for an owned handle and fails for a stale one");
  place->owned = 0;
  return status;
}

/* Many calls on tiny tensors find more than few calls on large ones. A tensor expanded to 2^40 elements takes no
 * memory, but reading it takes hours. */
static int takes_long(Kind kind, void* handle) {
  enum { kMaxElements = 1 << 12 };
  int64_t elements = 0;
  if (kind != kTensor) return 0;
  require(htone_tensor_numel(handle, &elements) == HTONE_OK, "a tensor's elements");
  return elements > kMaxElements;
}

htone_status keep(Machine* machine, Kind kind, htone_status status, void* handle) {
  require((status == HTONE_OK) == (handle != NULL), "a call makes something where it succeeds, and only there");
  if (handle == NULL) return status;
  const int slot = byte(machine) % kSlots;
  if (machine->slots[kind][slot].owned) release_slot(machine, kind, slot);
  machine->slots[kind][slot] = (Slot){handle, 1};
  if (takes_long(kind, handle)) release_slot(machine, kind, slot);
  return status;
}

static void make_first_tensors(Machine* machine) {
  enum { kFirst = 5 };
  static const int64_t shapes[kFirst][3] = {{2, 3, 4}, {4, 3}, {3}, {2, 4, 3}, {1}};
  static const int32_t ndims[kFirst] = {3, 2, 1, 3, 0};
  static const htone_dtype dtypes[kFirst] = {HTONE_F32, HTONE_F32, HTONE_F32, HTONE_BF16, HTONE_F32};
  for (int i = 0; i < kFirst; ++i) {
    htone_tensor* tensor = NULL;
    require(htone_tensor_create_full(machine->device, dtypes[i], ndims[i], shapes[i], 0.5 + i, &tensor) == HTONE_OK,
            "a tensor");
    machine->slots[kTensor][i] = (Slot){tensor, 1};
  }
}

void open_machine(Machine* machine, const uint8_t* data, size_t size) {
  *machine = (Machine){.next = data, .end = data + size};
  machine->device = memory_device(&machine->context);
  make_first_tensors(machine);
}

void close_machine(Machine* machine) {
  for (int i = 1; i >= 0; --i) {
    if (machine->scopes[i] != NULL)
      require(htone_scope_end(machine->scopes[i]) == HTONE_OK, "the innermost scope ends");
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int i = 0; i < kSlots; ++i) {
      if (machine->slots[kind][i].owned) release_slot(machine, (Kind)kind, i);
    }
  }
}
