/* The bytes are at most 16 calls on a few small tensors, a module and an optimizer, with arguments that are often odd:
 * handles that were released or never were, sizes from INT64_MIN to INT64_MAX. Any status but INTERNAL is an answer.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "memory_files.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { kTensors = 5, kMaxCalls = 16, kMaxDims = 5 };

/* A released handle stays in its slot: a later call takes it again. */
typedef struct Slot {
  void* handle;
  int owned;
} Slot;

typedef struct Machine {
  const uint8_t *next, *end;
  htone_device* device;
  Slot tensors[kTensors];
  Slot module, optimizer, scope;
  htone_tensor* made; /* by the call that runs */
} Machine;

typedef htone_status (*UnaryFn)(htone_tensor*, htone_tensor**);
typedef htone_status (*BinaryFn)(htone_tensor*, htone_tensor*, htone_tensor**);
typedef htone_status (*ReduceFn)(htone_tensor*, int32_t, const int64_t*, int32_t, htone_tensor**);
typedef htone_status (*AlongFn)(htone_tensor*, int64_t, htone_tensor**);
typedef htone_status (*ConvFn)(htone_tensor*, htone_tensor*, htone_tensor*, const htone_conv_options*, htone_tensor**);
typedef htone_status (*PoolFn)(htone_tensor*, int64_t, int64_t, const htone_pool_options*, htone_tensor**);

static uint8_t byte(Machine* machine) { return machine->next < machine->end ? *machine->next++ : 0; }

static int64_t integer(Machine* machine) {
  static const int64_t odd[] = {INT64_MIN,        INT64_MAX,        INT32_MIN, INT32_MAX,
                                (int64_t)1 << 32, (int64_t)1 << 62, -8,        100};
  const uint8_t value = byte(machine);
  return value < 0xf0 ? value % 8 - 2 : odd[value % 8];
}

/* Mostly a size that a tensor may have. */
static int64_t size_in(Machine* machine) {
  const uint8_t value = byte(machine);
  return value < 0xe0 ? value % 6 : integer(machine);
}

static double number(Machine* machine) {
  static const double values[] = {0, 1, -1, 0.5, 1e-5, 1e30, DBL_MAX, 5e-324, -0.0, 3};
  const uint8_t value = byte(machine);
  if (value == 0xfe) return NAN;
  return value == 0xff ? INFINITY : values[value % 10];
}

static htone_dtype dtype_in(Machine* machine) {
  const uint8_t value = byte(machine);
  return value < 0x80 ? value % 4 + 1 : value % 16 - 1;
}

static int32_t shape_in(Machine* machine, int64_t shape[kMaxDims]) {
  const uint8_t count = byte(machine);
  for (int i = 0; i < kMaxDims; ++i) shape[i] = i < count % (kMaxDims + 1) ? size_in(machine) : 1;
  return count == 0xff ? INT32_MAX : count == 0xfe ? -1 : count % (kMaxDims + 1);
}

static htone_tensor* tensor_in(Machine* machine) {
  const uint8_t value = byte(machine);
  if (value == 0xff) return NULL;
  return value == 0xfe ? (htone_tensor*)machine->module.handle : machine->tensors[value % kTensors].handle;
}

static htone_module* module_of(const Machine* machine) { return machine->module.handle; }
static htone_optimizer* optimizer_of(const Machine* machine) { return machine->optimizer.handle; }

/* ---- Calls: what is made stands in machine->made, which run_call puts into a slot. */

static htone_status make_tensor(Machine* machine) {
  int64_t shape[kMaxDims];
  const htone_dtype dtype = dtype_in(machine);
  const int32_t ndim = shape_in(machine, shape);
  return htone_tensor_create_full(machine->device, dtype, ndim, shape, number(machine), &machine->made);
}

static htone_status call_unary(Machine* machine) {
  static const UnaryFn functions[] = {htone_relu, htone_tensor_detach, htone_tensor_grad};
  const UnaryFn function = functions[byte(machine) % 3];
  return function(tensor_in(machine), &machine->made);
}

static htone_status call_binary(Machine* machine) {
  static const BinaryFn functions[] = {htone_add,    htone_sub,           htone_mul,     htone_div,
                                       htone_matmul, htone_cross_entropy, htone_accuracy};
  const BinaryFn function = functions[byte(machine) % 7];
  htone_tensor* a = tensor_in(machine);
  return function(a, tensor_in(machine), &machine->made);
}

static htone_status call_reduce(Machine* machine) {
  static const ReduceFn functions[] = {htone_sum, htone_mean};
  const ReduceFn function = functions[byte(machine) % 2];
  htone_tensor* input = tensor_in(machine);
  const int64_t dims[] = {integer(machine), integer(machine), integer(machine)};
  const uint8_t count = byte(machine);
  return function(input, count == 0xff ? -1 : count % 4, dims, byte(machine) % 2, &machine->made);
}

static htone_status call_along(Machine* machine) {
  static const AlongFn functions[] = {htone_softmax, htone_log_softmax, htone_adaptive_avg_pool1d};
  const AlongFn function = functions[byte(machine) % 3];
  htone_tensor* input = tensor_in(machine);
  return function(input, integer(machine), &machine->made);
}

static htone_status call_reshape(Machine* machine) {
  int64_t shape[kMaxDims];
  htone_tensor* input = tensor_in(machine);
  const int32_t ndim = shape_in(machine, shape);
  if (byte(machine) % 4 == 0) shape[0] = -1;
  return htone_reshape(input, ndim, shape, &machine->made);
}

static htone_status call_view(Machine* machine) {
  htone_tensor* input = tensor_in(machine);
  const int64_t a = integer(machine), b = integer(machine);
  if (byte(machine) % 2 == 0) return htone_transpose(input, a, b, &machine->made);
  const int64_t end = integer(machine);
  return htone_slice(input, a, b, end, integer(machine), &machine->made);
}

static htone_status call_convert(Machine* machine) {
  htone_tensor* input = tensor_in(machine);
  const uint8_t choice = byte(machine) % 3;
  if (choice == 0) return htone_cast(input, dtype_in(machine), &machine->made);
  if (choice == 1) return htone_gelu(input, byte(machine) % 4, &machine->made);
  const double scale = number(machine);
  return htone_rescale(input, scale, number(machine), &machine->made);
}

static htone_status call_conv(Machine* machine) {
  static const ConvFn functions[] = {htone_conv1d, htone_conv2d, htone_conv_transpose1d, htone_conv_transpose2d};
  const ConvFn function = functions[byte(machine) % 4];
  htone_tensor *input = tensor_in(machine), *weight = tensor_in(machine), *bias = tensor_in(machine);
  htone_conv_options options;
  if (htone_conv_options_init(&options) != HTONE_OK) return HTONE_INTERNAL;
  if (byte(machine) % 2 == 0) {
    options.stride_h = integer(machine);
    options.stride_w = integer(machine);
    options.padding_h = integer(machine);
    options.padding_w = integer(machine);
    options.dilation_w = integer(machine);
    options.output_padding_w = integer(machine);
    options.groups = integer(machine);
  }
  return function(input, weight, bias, &options, &machine->made);
}

static htone_status call_pool(Machine* machine) {
  static const PoolFn functions[] = {htone_max_pool2d, htone_avg_pool2d};
  const PoolFn function = functions[byte(machine) % 2];
  htone_tensor* input = tensor_in(machine);
  const int64_t height = integer(machine), width = integer(machine);
  htone_pool_options options;
  if (htone_pool_options_init(&options) != HTONE_OK) return HTONE_INTERNAL;
  if (byte(machine) % 2 == 0) {
    options.stride_h = integer(machine);
    options.padding_w = integer(machine);
    options.dilation_h = integer(machine);
    options.count_include_pad = byte(machine) % 2;
  }
  return function(input, height, width, &options, &machine->made);
}

static htone_status call_norm(Machine* machine) {
  int64_t shape[kMaxDims];
  const uint8_t choice = byte(machine) % 4;
  htone_tensor *input = tensor_in(machine), *weight = tensor_in(machine), *bias = tensor_in(machine);
  const double epsilon = number(machine);
  if (choice == 0) return htone_group_norm(input, integer(machine), weight, bias, epsilon, &machine->made);
  if (choice == 1) {
    return htone_batch_norm(input, tensor_in(machine), tensor_in(machine), weight, bias, byte(machine) % 2,
                            number(machine), epsilon, &machine->made);
  }
  const int32_t ndim = shape_in(machine, shape);
  if (choice == 2) return htone_rms_norm(input, ndim, shape, weight, epsilon, &machine->made);
  return htone_layer_norm(input, ndim, shape, weight, bias, epsilon, &machine->made);
}

static htone_status change_tensor(Machine* machine) {
  htone_tensor* tensor = tensor_in(machine);
  switch (byte(machine) % 5) {
    case 0:
      return htone_tensor_fill(tensor, number(machine));
    case 1:
      return htone_init_uniform(tensor, number(machine), number(machine));
    case 2:
      return htone_tensor_set_requires_grad(tensor, byte(machine) % 2);
    case 3:
      return htone_tensor_zero_grad(tensor);
    default:
      return htone_tensor_mark_written(tensor);
  }
}

/* 64 elements leave room for any dtype; what has more answers BUFFER_TOO_SMALL. */
static htone_status read_tensor(Machine* machine) {
  double values[64], item = 0;
  int64_t shape[kMaxDims];
  int32_t ndim = 0;
  htone_tensor* tensor = tensor_in(machine);
  htone_tensor_item(tensor, &item);
  htone_tensor_strides(tensor, byte(machine) % (kMaxDims + 1), shape, &ndim);
  const htone_dtype dtype = dtype_in(machine);
  const htone_status status = htone_tensor_read(tensor, dtype, values, sizeof values);
  if (status != HTONE_OK) return status;
  return htone_tensor_write(tensor, dtype, values, byte(machine));
}

static htone_status go_backward(Machine* machine) {
  htone_tensor* tensor = tensor_in(machine);
  htone_tensor* gradient = byte(machine) % 2 == 0 ? NULL : tensor_in(machine);
  return htone_tensor_backward(tensor, gradient, byte(machine) % 2);
}

static htone_status release_tensor(Machine* machine) {
  Slot* slot = &machine->tensors[byte(machine) % kTensors];
  const htone_status status = htone_tensor_release(slot->handle);
  require(slot->owned || slot->handle == NULL || status == HTONE_INVALID_HANDLE, "a stale handle is refused");
  slot->owned = 0;
  return status;
}

static htone_status make_module(Machine* machine) {
  htone_module* module = NULL;
  const uint8_t choice = byte(machine) % 4;
  const int64_t in = size_in(machine), out = size_in(machine);
  htone_status status = choice == 0 ? htone_module_create_linear(machine->device, in, out, NULL, &module)
                        : choice == 1
                            ? htone_module_create_conv1d(machine->device, in, out, integer(machine), NULL, &module)
                        : choice == 2 ? htone_module_create_batch_norm_1d(machine->device, in, NULL, &module)
                                      : htone_module_create_layer_norm(machine->device, 1, &in, NULL, &module);
  if (status != HTONE_OK) return status;
  if (machine->module.owned) htone_module_release(machine->module.handle);
  machine->module = (Slot){module, 1};
  return HTONE_OK;
}

static htone_status use_module(Machine* machine) {
  if (byte(machine) % 4 == 0) return htone_module_train(module_of(machine), byte(machine) % 2);
  return htone_module_forward(module_of(machine), tensor_in(machine), NULL, &machine->made);
}

static htone_status make_optimizer(Machine* machine) {
  htone_optimizer* optimizer = NULL;
  htone_sgd_options options;
  htone_sgd_options_init(&options);
  options.lr = number(machine);
  options.momentum = number(machine);
  const htone_status status = byte(machine) % 2 == 0
                                  ? htone_optimizer_create_adamw(module_of(machine), NULL, &optimizer)
                                  : htone_optimizer_create_sgd(module_of(machine), &options, &optimizer);
  if (status != HTONE_OK) return status;
  if (machine->optimizer.owned) htone_optimizer_release(machine->optimizer.handle);
  machine->optimizer = (Slot){optimizer, 1};
  return HTONE_OK;
}

static htone_status use_optimizer(Machine* machine) {
  switch (byte(machine) % 4) {
    case 0:
      return htone_optimizer_zero_grad(optimizer_of(machine));
    case 1:
      return htone_optimizer_clip_grad_norm(optimizer_of(machine), number(machine));
    case 2:
      return htone_optimizer_set_clip_value(optimizer_of(machine), number(machine));
    default:
      return htone_optimizer_step(optimizer_of(machine));
  }
}

static htone_status change_modes(Machine* machine) {
  if (machine->scope.owned) {
    machine->scope.owned = 0;
    return htone_scope_end(machine->scope.handle);
  }
  htone_scope* scope = NULL;
  const htone_status status = htone_no_grad_begin(&scope);
  if (status == HTONE_OK) machine->scope = (Slot){scope, 1};
  return status;
}

static void keep_made(Machine* machine) {
  if (machine->made == NULL) return;
  Slot* slot = &machine->tensors[byte(machine) % kTensors];
  if (slot->owned) require(htone_tensor_release(slot->handle) == HTONE_OK, "a release of what is owned");
  *slot = (Slot){machine->made, 1};
  machine->made = NULL;
}

typedef htone_status (*Call)(Machine*);

static void run_call(Machine* machine) {
  static const Call calls[] = {make_tensor,  call_unary,    call_binary,    call_reduce,   call_along,
                               call_reshape, call_view,     call_convert,   call_conv,     call_pool,
                               call_norm,    change_tensor, read_tensor,    go_backward,   release_tensor,
                               make_module,  use_module,    make_optimizer, use_optimizer, change_modes};
  const htone_status status = calls[byte(machine) % (sizeof calls / sizeof *calls)](machine);
  require(status != HTONE_INTERNAL, "no call fails for a reason of its own");
  require(status == HTONE_OK || machine->made == NULL, "a failed call makes nothing");
  keep_made(machine);
}

static void release_all(Machine* machine) {
  if (machine->scope.owned) htone_scope_end(machine->scope.handle);
  if (machine->optimizer.owned) htone_optimizer_release(machine->optimizer.handle);
  if (machine->module.owned) htone_module_release(machine->module.handle);
  for (int i = 0; i < kTensors; ++i) {
    if (machine->tensors[i].owned) htone_tensor_release(machine->tensors[i].handle);
  }
}

/* Each input begins with the same tensors, so that few bytes lead to work. */
static void make_first_tensors(Machine* machine) {
  static const int64_t shapes[kTensors][3] = {{2, 3, 4}, {4, 3}, {3}, {2, 4, 3}, {1}};
  static const int32_t ndims[kTensors] = {3, 2, 1, 3, 0};
  for (int i = 0; i < kTensors; ++i) {
    require(htone_tensor_create_full(machine->device, i == 3 ? HTONE_BF16 : HTONE_F32, ndims[i], shapes[i], 0.5 + i,
                                     &machine->made) == HTONE_OK,
            "a tensor");
    machine->tensors[i] = (Slot){machine->made, 1};
    machine->made = NULL;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Machine machine = {.next = data, .end = data + size, .device = memory_device(NULL)};
  make_first_tensors(&machine);
  for (int i = 0; i < kMaxCalls && machine.next < machine.end; ++i) run_call(&machine);
  release_all(&machine);
  require_no_handles();
  return 0;
}
