/* Operations that choose elements, images of another size, and convolution of volumes. */
#include "calls.h"

/* Places and counts of values, and repeated elements. */
static htone_status call_search(Machine* machine, htone_tensor* input) {
  const uint8_t choice = byte(machine) % 7;
  if (choice == 0) return htone_isin(input, tensor_in(machine), &machine->made[0]);
  const int64_t a = integer(machine);
  if (choice == 1) return htone_diag(input, a, &machine->made[0]);
  if (choice == 2) return htone_repeat_interleave(input, integer(machine), a, &machine->made[0]);
  htone_tensor* other = tensor_in(machine);
  if (choice == 3) return htone_repeat_interleave_counts(input, other, a, &machine->made[0]);
  if (choice == 4) return htone_bincount(input, other, a, &machine->made[0]);
  if (choice == 5) return htone_searchsorted(input, other, (int32_t)a, &machine->made[0]);
  htone_tensor* const axes[] = {input, other, input};
  return htone_meshgrid((size_t)(byte(machine) % (kMaxMade + 1)), axes, (int32_t)a, machine->made);
}

/* Elements at a rank, and running extremes. */
static htone_status call_rank(Machine* machine, htone_tensor* input) {
  const uint8_t choice = byte(machine) % 6;
  if (choice == 0) return htone_median(input, &machine->made[0]);
  const int64_t dim = integer(machine);
  if (choice == 1) return htone_cummax(input, dim, &machine->made[0], &machine->made[1]);
  if (choice == 2) return htone_cummin(input, dim, &machine->made[0], &machine->made[1]);
  const int32_t keepdim = flag(machine);
  if (choice == 3) return htone_median_dim(input, dim, keepdim, &machine->made[0], &machine->made[1]);
  if (choice == 4) {
    return htone_kthvalue(input, integer(machine), dim, keepdim, &machine->made[0], &machine->made[1]);
  }
  const htone_interpolation interpolation = (htone_interpolation)(byte(machine) % 6);
  return htone_quantile(input, number(machine), dim, keepdim, interpolation, &machine->made[0]);
}

htone_status call_choose(Machine* machine) {
  const uint8_t choice = byte(machine) % 7;
  htone_tensor* input = tensor_in(machine);
  if (choice == 5) return call_search(machine, input);
  if (choice == 6) return call_rank(machine, input);
  if (choice == 0) return htone_nonzero(input, &machine->made[0]);
  const int64_t a = integer(machine);
  const int32_t is_set = flag(machine);
  if (choice == 1) return htone_multinomial(input, a, is_set, &machine->made[0]);
  if (choice == 2) return htone_argsort(input, a, is_set, &machine->made[0]);
  if (choice == 3) return htone_sort(input, a, is_set, &machine->made[0], &machine->made[1]);
  const int64_t dim = integer(machine);
  return htone_topk(input, a, dim, is_set, flag(machine), &machine->made[0], &machine->made[1]);
}

static htone_status call_grid_sample(Machine* machine, htone_tensor* input) {
  htone_tensor* grid = tensor_in(machine);
  const htone_grid_mode mode = (htone_grid_mode)(byte(machine) % 4);
  const htone_grid_padding padding_mode = (htone_grid_padding)(byte(machine) % 4);
  return htone_grid_sample(input, grid, mode, padding_mode, flag(machine), &machine->made[0]);
}

htone_status call_resize(Machine* machine) {
  const uint8_t choice = byte(machine) % 6;
  htone_tensor* input = tensor_in(machine);
  if (choice == 5) return call_grid_sample(machine, input);
  const int64_t width = integer(machine), height = integer(machine);
  const int32_t align_corners = flag(machine);
  if (choice == 0) return htone_upsample_nearest1d(input, width, &machine->made[0]);
  if (choice == 1) return htone_upsample_nearest2d(input, height, width, &machine->made[0]);
  if (choice == 2) return htone_upsample_linear1d(input, width, align_corners, &machine->made[0]);
  if (choice == 3) return htone_upsample_bicubic2d(input, height, width, align_corners, &machine->made[0]);
  return htone_upsample_bilinear2d(input, height, width, align_corners, &machine->made[0]);
}

htone_status call_conv3d(Machine* machine) {
  htone_tensor *input = tensor_in(machine), *weight = tensor_in(machine), *bias = tensor_in(machine);
  htone_conv3d_options options;
  const htone_status status = htone_conv3d_options_init(&options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) {
    options.stride_d = integer(machine);
    options.padding_d = integer(machine);
    options.dilation_d = integer(machine);
    options.padding_w = integer(machine);
    options.groups = integer(machine);
  }
  return htone_conv3d(input, weight, bias, &options, &machine->made[0]);
}
