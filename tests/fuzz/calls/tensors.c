/* Single tensors: create, lend, write, read and release them. */
#include <stdlib.h>

#include "calls.h"
#include "common/dlpack_standard.h"

/* The buffer covers every tensor that make_over_buffer and lend_tensor describe: three dimensions below 4 times strides
 * below 5, eight bytes per element, beginning at most eight bytes later. */
enum { kBufferDims = 3, kBufferDoubles = 64 };
static double buffer[kBufferDoubles];

static int32_t buffer_layout(Machine* machine, int64_t shape[kBufferDims], int64_t strides[kBufferDims]) {
  for (int i = 0; i < kBufferDims; ++i) {
    shape[i] = byte(machine) % 4;
    strides[i] = byte(machine) % 6 - 1;
  }
  return byte(machine) % (kBufferDims + 1);
}

htone_status make_tensor(Machine* machine) {
  int64_t shape[kMaxDims];
  const htone_dtype dtype = dtype_in(machine);
  const int32_t ndim = shape_in(machine, shape);
  return htone_tensor_create_full(machine->device, dtype, ndim, shape, number(machine), &machine->made[0]);
}

htone_status make_over_buffer(Machine* machine) {
  int64_t shape[kBufferDims], strides[kBufferDims];
  const htone_dtype dtype = dtype_in(machine);
  const int32_t ndim = buffer_layout(machine, shape, strides);
  char* data = (char*)buffer + byte(machine) % 9;
  if (flag(machine)) {
    return htone_tensor_from_buffer_strided(machine->device, dtype, ndim, shape, strides, data, NULL, NULL,
                                            &machine->made[0]);
  }
  return htone_tensor_from_buffer(machine->device, dtype, ndim, shape, data, NULL, NULL, &machine->made[0]);
}

typedef struct Loan {
  DLManagedTensorVersioned managed; /* first, so that the deleter can cast it to the whole */
  int64_t shape[kBufferDims], strides[kBufferDims];
} Loan;

static void end_loan(DLManagedTensorVersioned* managed) { free(managed); }

static htone_status borrow_buffer(Machine* machine) {
  Loan* loan = calloc(1, sizeof *loan);
  require(loan != NULL, "memory");
  const int32_t ndim = buffer_layout(machine, loan->shape, loan->strides);
  static const uint8_t bits[] = {32, 64, 16, 8, 1};
  loan->managed = (DLManagedTensorVersioned){.version = {byte(machine) % 3, 0}, .deleter = end_loan};
  loan->managed.flags = byte(machine) % 4;
  loan->managed.dl_tensor = (DLTensor){.data = buffer,
                                       .device = {byte(machine) % 3, 0},
                                       .ndim = ndim,
                                       .dtype = {byte(machine) % 18, bits[byte(machine) % sizeof bits], 1},
                                       .shape = loan->shape,
                                       .strides = loan->strides,
                                       .byte_offset = byte(machine) % 9};
  const htone_status status = htone_tensor_from_dlpack_versioned(machine->device, &loan->managed, &machine->made[0]);
  if (status != HTONE_OK) free(loan);
  return status;
}

/* Lends a tensor and imports the loan as another tensor over the same memory. */
htone_status lend_tensor(Machine* machine) {
  if (flag(machine)) return borrow_buffer(machine);
  struct DLManagedTensorVersioned* managed = NULL;
  htone_status status = htone_tensor_to_dlpack_versioned(tensor_in(machine), &managed);
  if (status != HTONE_OK) return status;
  status = htone_tensor_from_dlpack_versioned(machine->device, managed, &machine->made[0]);
  if (status != HTONE_OK) managed->deleter(managed);
  return status;
}

htone_status change_tensor(Machine* machine) {
  htone_tensor* tensor = tensor_in(machine);
  switch (byte(machine) % 7) {
    case 0:
      return htone_tensor_fill(tensor, number(machine));
    case 1:
      return htone_init_uniform(tensor, number(machine), number(machine));
    case 2:
      return htone_tensor_set_requires_grad(tensor, flag(machine));
    case 3:
      return htone_tensor_zero_grad(tensor);
    case 4:
      return htone_init_normal(tensor, number(machine), number(machine));
    case 5:
      return htone_init_bernoulli(tensor, number(machine));
    default:
      return htone_tensor_mark_written(tensor);
  }
}

/* 64 elements have room for any dtype; larger tensors return BUFFER_TOO_SMALL. */
htone_status read_tensor(Machine* machine) {
  double values[64];
  htone_tensor* tensor = tensor_in(machine);
  const htone_dtype dtype = dtype_in(machine);
  const htone_status status = htone_tensor_read(tensor, dtype, values, sizeof values);
  if (status != HTONE_OK) return status;
  return htone_tensor_write(tensor, dtype, values, byte(machine));
}

htone_status describe_tensor(Machine* machine) {
  int64_t sizes[kMaxDims], count = 0;
  int32_t ndim = 0, requires_grad = 0, is_shared = 0;
  double item = 0;
  htone_dtype dtype = 0;
  htone_tensor* tensor = tensor_in(machine);
  const int32_t capacity = byte(machine) % (kMaxDims + 1);
  htone_tensor_shape(tensor, sizes, capacity, &ndim);
  htone_tensor_strides(tensor, sizes, capacity, &ndim);
  htone_tensor_numel(tensor, &count);
  htone_tensor_dtype(tensor, &dtype);
  htone_tensor_requires_grad(tensor, &requires_grad);
  htone_tensor_is_shared(tensor, &is_shared);
  return htone_tensor_item(tensor, &item);
}

htone_status go_backward(Machine* machine) {
  htone_tensor* tensor = tensor_in(machine);
  htone_tensor* gradient = flag(machine) ? tensor_in(machine) : NULL;
  return htone_tensor_backward(tensor, gradient, flag(machine));
}

htone_status release_something(Machine* machine) {
  const uint8_t choice = byte(machine);
  const Kind kind = choice < 0x80 ? kTensor : (Kind)(choice % kKinds);
  return release_slot(machine, kind, byte(machine) % kSlots);
}
