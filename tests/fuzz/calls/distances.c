/* Distances and their losses, operations that move the elements of images, and pools of volumes. */
#include "calls.h"

static htone_status call_ranking(Machine* machine, uint8_t choice, htone_tensor* a, htone_tensor* b) {
  htone_tensor* c = tensor_in(machine);
  const double margin = number(machine);
  const htone_reduction reduction = byte(machine) % 6 - 1;
  if (choice == 0) return htone_margin_ranking_loss(a, b, c, margin, reduction, &machine->made[0]);
  if (choice == 1) return htone_cosine_embedding_loss(a, b, c, margin, reduction, &machine->made[0]);
  const double p = number(machine), epsilon = number(machine);
  return htone_triplet_margin_loss(a, b, c, margin, p, epsilon, flag(machine), reduction, &machine->made[0]);
}

static htone_status call_alignment(Machine* machine, htone_tensor* logs, htone_tensor* targets) {
  htone_tensor *input_lengths = tensor_in(machine), *target_lengths = tensor_in(machine);
  const int64_t blank = integer(machine);
  const htone_reduction reduction = byte(machine) % 6 - 1;
  return htone_ctc_loss(logs, targets, input_lengths, target_lengths, blank, reduction, flag(machine),
                        &machine->made[0]);
}

htone_status call_distance(Machine* machine) {
  const uint8_t choice = byte(machine) % 8;
  htone_tensor *a = tensor_in(machine), *b = tensor_in(machine);
  if (choice < 3) return call_ranking(machine, choice, a, b);
  if (choice == 7) return call_alignment(machine, a, b);
  const double p = number(machine), epsilon = number(machine);
  if (choice == 3) return htone_normalize(a, p, integer(machine), epsilon, &machine->made[0]);
  if (choice == 4) return htone_cosine_similarity(a, b, integer(machine), epsilon, &machine->made[0]);
  if (choice == 5) return htone_pairwise_distance(a, b, p, epsilon, flag(machine), &machine->made[0]);
  return htone_cdist(a, b, p, &machine->made[0]);
}

static htone_status call_pad_edges(Machine* machine, htone_tensor* input) {
  int64_t padding[2 * kMaxDims];
  const uint8_t choice = byte(machine) % 3, pairs = byte(machine) % kMaxDims;
  for (int i = 0; i < 2 * kMaxDims; ++i) padding[i] = i < 2 * pairs ? integer(machine) : 0;
  if (choice == 0) return htone_pad_reflect(input, pairs, padding, &machine->made[0]);
  if (choice == 1) return htone_pad_replicate(input, pairs, padding, &machine->made[0]);
  return htone_pad_circular(input, pairs, padding, &machine->made[0]);
}

htone_status call_image(Machine* machine) {
  const uint8_t choice = byte(machine) % 5;
  htone_tensor* input = tensor_in(machine);
  if (choice == 4) return call_pad_edges(machine, input);
  const int64_t h = integer(machine), w = integer(machine);
  if (choice == 0) return htone_pixel_shuffle(input, h, &machine->made[0]);
  if (choice == 1) return htone_pixel_unshuffle(input, h, &machine->made[0]);
  htone_unfold_options options;
  const htone_status status = htone_unfold_options_init(&options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) {
    options.stride_h = integer(machine);
    options.padding_w = integer(machine);
    options.dilation_h = integer(machine);
  }
  if (choice == 2) return htone_unfold(input, h, w, &options, &machine->made[0]);
  const int64_t height = integer(machine), width = integer(machine);
  return htone_fold(input, height, width, h, w, &options, &machine->made[0]);
}

static htone_status pool_volumes(Machine* machine, htone_tensor* input) {
  htone_pool3d_options options;
  const htone_status status = htone_pool3d_options_init(&options);
  if (status != HTONE_OK) return status;
  const int is_max = flag(machine);
  const int64_t d = integer(machine), h = integer(machine), w = integer(machine);
  if (flag(machine)) {
    options.stride_d = integer(machine);
    options.padding_h = integer(machine);
    options.dilation_w = integer(machine);
    options.ceil_mode = flag(machine);
    options.count_include_pad = flag(machine);
  }
  return is_max ? htone_max_pool3d(input, d, h, w, &options, &machine->made[0])
                : htone_avg_pool3d(input, d, h, w, &options, &machine->made[0]);
}

htone_status call_volume(Machine* machine) {
  htone_tensor* input = tensor_in(machine);
  if (flag(machine)) return pool_volumes(machine, input);
  htone_tensor *weight = tensor_in(machine), *bias = tensor_in(machine);
  htone_conv3d_options options;
  const htone_status status = htone_conv3d_options_init(&options);
  if (status != HTONE_OK) return status;
  if (flag(machine)) {
    options.stride_d = integer(machine);
    options.padding_d = integer(machine);
    options.output_padding_d = integer(machine);
    options.dilation_w = integer(machine);
    options.groups = integer(machine);
  }
  return htone_conv_transpose3d(input, weight, bias, &options, &machine->made[0]);
}
