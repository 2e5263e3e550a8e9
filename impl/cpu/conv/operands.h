// The operands of the matrix products that make up a convolution: views of its tensors if their layout allows it ("in
// place"), else copies of one block in memory of the caller. Used by the three passes; any thread.
#pragma once

#include "backend/kernels/kernels.h"
#include "cpu/conv/blocks.h"
#include "cpu/conv/patches.h"

namespace halftone::cpu {

class Operands {
 public:
  // `rounds_to_tf32`: products of FP32 round their operands to TF32.
  Operands(const ConvArgs& args, bool rounds_to_tf32) noexcept;

  const ConvArgs& args() const noexcept { return args_; }
  const Blocks& blocks() const noexcept { return blocks_; }
  bool rounds_to_tf32() const noexcept { return rounds_to_tf32_; }
  int64_t groups() const noexcept { return args_.groups; }
  int64_t taps() const noexcept { return taps_; }        // k: channels of a group * kh * kw
  int64_t filters() const noexcept { return filters_; }  // output channels of a group
  DType compute_dtype() const noexcept { return args_.output.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  // Bytes of a matrix with `rows` rows and the columns of the largest block.
  size_t matrix_size(int64_t rows, DType dtype) const noexcept;
  // Such a matrix in the given memory, for one block.
  View matrix(int64_t rows, DType dtype, const Block& block, void* memory) const noexcept;

  Patches patches_of(int64_t group) const noexcept;

  // [filters, taps]
  View weights(int64_t group) const noexcept;
  // [taps, columns]: a block's patches. In place if the window is one element and moves by one.
  bool is_input_matrix(const Block& block) const noexcept;
  View input(const Block& block, int64_t group, void* memory) const noexcept;
  // [filters, columns]. In place if the output's layout is such a matrix already.
  bool is_output_matrix(const Block& block) const noexcept;
  View output(const Block& block, int64_t group, void* memory) const noexcept;

  // Copy the operand to `memory`; no effect if it is in place.
  void gather_input(const Block& block, int64_t group, void* memory) const noexcept;
  void gather_output(const Block& block, int64_t group, void* memory) const noexcept;

 private:
  const ConvArgs& args_;
  bool rounds_to_tf32_;
  int64_t taps_;
  int64_t filters_;
  Blocks blocks_;
};

// Channels [first, first + count) of a tensor [n, c, ...].
View channels_of(const View& tensor, int64_t first, int64_t count) noexcept;

// Null stays null: the workspace is computed with products that have no memory yet.
inline std::byte* at_offset(void* memory, size_t offset) {
  return memory == nullptr ? nullptr : static_cast<std::byte*>(memory) + offset;
}

}  // namespace halftone::cpu
