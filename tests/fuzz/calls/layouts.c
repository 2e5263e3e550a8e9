/* Operations that move elements: views, parts, and selection by indices. */
#include "calls.h"

htone_status call_reshape(Machine* machine) {
  int64_t shape[kMaxDims];
  const int broadcasts = flag(machine);
  htone_tensor* input = tensor_in(machine);
  const int32_t ndim = shape_in(machine, shape);
  if (broadcasts) return htone_broadcast_to(input, ndim, shape, &machine->made[0]);
  if (byte(machine) % 4 == 0) shape[0] = -1;
  return htone_reshape(input, ndim, shape, &machine->made[0]);
}

static htone_status call_dims_view(Machine* machine, int permutes, htone_tensor* input) {
  int64_t dims[kMaxDims];
  const uint8_t count = byte(machine);
  for (int i = 0; i < kMaxDims; ++i) dims[i] = integer(machine);
  const int32_t dim_count = count == 0xff ? INT32_MAX : count == 0xfe ? -1 : count % (kMaxDims + 1);
  return permutes ? htone_permute(input, dim_count, dims, &machine->made[0])
                  : htone_squeeze(input, dim_count, dims, &machine->made[0]);
}

htone_status call_view(Machine* machine) {
  const uint8_t choice = byte(machine) % 7;
  htone_tensor* input = tensor_in(machine);
  if (choice < 2) return call_dims_view(machine, choice, input);
  const int64_t a = integer(machine);
  if (choice == 2) return htone_unsqueeze(input, a, &machine->made[0]);
  if (choice == 3) return htone_tril(input, a, &machine->made[0]);
  if (choice == 4) return htone_triu(input, a, &machine->made[0]);
  const int64_t b = integer(machine);
  if (choice == 5) return htone_transpose(input, a, b, &machine->made[0]);
  const int64_t end = integer(machine);
  return htone_slice(input, a, b, end, integer(machine), &machine->made[0]);
}

htone_status call_join(Machine* machine) {
  const int stacks = flag(machine);
  htone_tensor* tensors[3];
  const size_t count = byte(machine) % 4;
  for (size_t i = 0; i < 3; ++i) tensors[i] = i < count ? tensor_in(machine) : NULL;
  const int64_t dim = integer(machine);
  return stacks ? htone_stack(count, tensors, dim, &machine->made[0])
                : htone_cat(count, tensors, dim, &machine->made[0]);
}

htone_status call_split(Machine* machine) {
  int64_t sizes[kMaxMade];
  htone_tensor* input = tensor_in(machine);
  const size_t count = byte(machine) % (kMaxMade + 1);
  for (int i = 0; i < kMaxMade; ++i) sizes[i] = integer(machine);
  return htone_split(input, integer(machine), count, sizes, machine->made);
}

htone_status call_pad(Machine* machine) {
  int64_t padding[2 * kMaxDims];
  htone_tensor* input = tensor_in(machine);
  const uint8_t pairs = byte(machine);
  for (int i = 0; i < 2 * kMaxDims; ++i) padding[i] = i < 2 * (pairs % kMaxDims) ? integer(machine) : 0;
  return htone_pad(input, pairs == 0xff ? -1 : pairs % kMaxDims, padding, number(machine), &machine->made[0]);
}

/* Writes by index. */
static htone_status call_scatter(Machine* machine, htone_tensor* input, htone_tensor* index) {
  const uint8_t choice = byte(machine) % 6;
  const int64_t dim = integer(machine);
  if (choice == 0) return htone_scatter_scalar(input, dim, index, number(machine), &machine->made[0]);
  htone_tensor* source = tensor_in(machine);
  if (choice == 1) return htone_index_add(input, dim, index, source, &machine->made[0]);
  if (choice == 2) return htone_index_copy(input, dim, index, source, &machine->made[0]);
  if (choice == 3) return htone_scatter(input, dim, index, source, &machine->made[0]);
  const int32_t is_set = flag(machine);
  htone_tensor* const indices[] = {index, tensor_in(machine)};
  if (choice == 4) {
    return htone_index_put(input, (size_t)(byte(machine) % 3), indices, source, is_set, &machine->made[0]);
  }
  const htone_scatter_reduction reduction = (htone_scatter_reduction)(byte(machine) % 6);
  return htone_scatter_reduce(input, dim, index, source, reduction, is_set, &machine->made[0]);
}

htone_status call_index(Machine* machine) {
  const uint8_t choice = byte(machine) % 8;
  htone_tensor *input = tensor_in(machine), *index = tensor_in(machine);
  if (choice == 0) return htone_masked_fill(input, index, number(machine), &machine->made[0]);
  if (choice == 5) return call_scatter(machine, input, index);
  if (choice == 6) return htone_masked_select(input, index, &machine->made[0]);
  if (choice == 7) {
    htone_tensor* const indices[] = {index, tensor_in(machine)};
    return htone_index(input, (size_t)(byte(machine) % 3), indices, &machine->made[0]);
  }
  const int64_t dim = integer(machine);
  switch (choice) {
    case 1:
      return htone_gather(input, dim, index, &machine->made[0]);
    case 2:
      return htone_scatter_add(input, dim, index, tensor_in(machine), &machine->made[0]);
    case 3:
      return htone_index_select(input, dim, index, &machine->made[0]);
    default:
      return htone_embedding(input, index, dim, &machine->made[0]);
  }
}
