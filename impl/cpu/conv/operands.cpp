#include "cpu/conv/operands.h"

namespace halftone::cpu {
namespace {

// True if rows of positions follow one another without gaps, so that a block of rows is one line.
bool has_joined_rows(const View& view) {
  return (view.shape[3] == 1 || view.strides[3] == 1) && (view.shape[2] == 1 || view.strides[2] == view.shape[3]);
}

// [channels, columns] of one image; REQUIRES: has_joined_rows.
View plane_rows(const View& planes, const Block& block) {
  const int64_t first = block.image * planes.strides[0] + block.row * planes.shape[3];
  return {.data = at_offset(planes.data, static_cast<size_t>(first) * size_of(planes.dtype)),
          .dtype = planes.dtype,
          .shape = {planes.shape[1], block.rows * planes.shape[3]},
          .strides = {planes.strides[1], 1}};
}

}  // namespace

View channels_of(const View& tensor, int64_t first, int64_t count) noexcept {
  View view = tensor;
  view.data = at_offset(tensor.data, static_cast<size_t>(first * tensor.strides[1]) * size_of(tensor.dtype));
  view.shape[1] = count;
  return view;
}

Operands::Operands(const ConvArgs& args, bool rounds_to_tf32) noexcept
    : args_(args),
      rounds_to_tf32_(rounds_to_tf32),
      taps_(args.weight.shape[1] * args.weight.shape[2] * args.weight.shape[3]),
      filters_(args.weight.shape[0] / args.groups),
      blocks_(args.input.shape[0], args.output.shape[2], args.output.shape[3], taps_) {}

size_t Operands::matrix_size(int64_t rows, DType dtype) const noexcept {
  return static_cast<size_t>(rows * padded_columns(blocks_.max_columns())) * size_of(dtype);
}

View Operands::matrix(int64_t rows, DType dtype, const Block& block, void* memory) const noexcept {
  const int64_t columns = blocks_.columns_of(block);
  return {.data = memory, .dtype = dtype, .shape = {rows, columns}, .strides = {padded_columns(columns), 1}};
}

Patches Operands::patches_of(int64_t group) const noexcept {
  const int64_t channels = args_.weight.shape[1];
  return {.planes = channels_of(args_.input, group * channels, channels),
          .kernel = {args_.weight.shape[2], args_.weight.shape[3]},
          .window = args_.window,
          .row_width = args_.output.shape[3]};
}

View Operands::weights(int64_t group) const noexcept {
  const size_t offset = static_cast<size_t>(group * filters_ * taps_) * size_of(args_.weight.dtype);
  return {.data = at_offset(args_.weight.data, offset),
          .dtype = args_.weight.dtype,
          .shape = {filters_, taps_},
          .strides = {taps_, 1}};
}

bool Operands::is_input_matrix(const Block& block) const noexcept {
  const ConvWindow& window = args_.window;
  for (int d = 0; d < 2; ++d) {
    if (args_.weight.shape[2 + d] != 1 || window.stride[d] != 1 || window.padding[d] != 0) return false;
    // A transpose with output padding writes planes that are larger than the ones it reads.
    if (args_.input.shape[2 + d] != args_.output.shape[2 + d]) return false;
  }
  return block.images == 1 && has_joined_rows(args_.input);
}

View Operands::input(const Block& block, int64_t group, void* memory) const noexcept {
  if (is_input_matrix(block)) return plane_rows(patches_of(group).planes, block);
  return matrix(taps_, args_.input.dtype, block, memory);
}

bool Operands::is_output_matrix(const Block& block) const noexcept {
  return block.images == 1 && has_joined_rows(args_.output);
}

View Operands::output(const Block& block, int64_t group, void* memory) const noexcept {
  if (is_output_matrix(block)) return plane_rows(channels_of(args_.output, group * filters_, filters_), block);
  return matrix(filters_, args_.output.dtype, block, memory);
}

void Operands::gather_input(const Block& block, int64_t group, void* memory) const noexcept {
  if (is_input_matrix(block)) return;
  gather_patches(patches_of(group), block, padded_columns(blocks_.columns_of(block)), memory);
}

// A window of one element gathers the plane itself.
void Operands::gather_output(const Block& block, int64_t group, void* memory) const noexcept {
  if (is_output_matrix(block)) return;
  const Patches elements = {.planes = channels_of(args_.output, group * filters_, filters_),
                            .kernel = {1, 1},
                            .window = {},
                            .row_width = args_.output.shape[3]};
  gather_patches(elements, block, padded_columns(blocks_.columns_of(block)), memory);
}

}  // namespace halftone::cpu
