// The matrices whose products a convolution is: views of its tensors where they lie right ("in place"), else copies of
// one block in memory that the caller gives. Used by the three passes; any thread.
#pragma once

#include "backend/cpu/conv/blocks.h"
#include "backend/cpu/conv/patches.h"
#include "backend/kernels.h"

namespace halftone::cpu {

class Operands {
 public:
  explicit Operands(const ConvArgs& args) noexcept;

  const ConvArgs& args() const noexcept { return args_; }
  const Blocks& blocks() const noexcept { return blocks_; }
  int64_t groups() const noexcept { return args_.groups; }
  int64_t taps() const noexcept { return taps_; }        // k: channels of a group * kh * kw
  int64_t filters() const noexcept { return filters_; }  // output channels of a group
  DType compute_dtype() const noexcept { return args_.output.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

  // Bytes of a matrix of `rows` rows and as many columns as the largest block.
  size_t matrix_size(int64_t rows, DType dtype) const noexcept;
  // That matrix in the given memory, for one block.
  View matrix(int64_t rows, DType dtype, const Block& block, void* memory) const noexcept;

  Patches patches_of(int64_t group) const noexcept;

  // [filters, taps]
  View weights(int64_t group) const noexcept;
  // [taps, columns]: what a block's patches are, in place where a window is one element that moves by one.
  bool is_input_matrix(const Block& block) const noexcept;
  View input(const Block& block, int64_t group, void* memory) const noexcept;
  // [filters, columns], in place where that is a matrix already.
  bool is_output_matrix(const Block& block) const noexcept;
  View output(const Block& block, int64_t group, void* memory) const noexcept;

  // Fills what is not in place.
  void gather_input(const Block& block, int64_t group, void* memory) const noexcept;
  void gather_output(const Block& block, int64_t group, void* memory) const noexcept;

 private:
  const ConvArgs& args_;
  int64_t taps_;
  int64_t filters_;
  Blocks blocks_;
};

// Channels [first, first + count) of a tensor [n, c, ...].
View channels_of(const View& tensor, int64_t first, int64_t count) noexcept;

// Null stays null: a workspace is measured with products that have no memory yet.
inline std::byte* at_offset(void* memory, size_t offset) {
  return memory == nullptr ? nullptr : static_cast<std::byte*>(memory) + offset;
}

}  // namespace halftone::cpu
