#include <algorithm>
#include <cstring>

#include "cpu/conv/passes.h"
#include "cpu/device.h"

namespace halftone::cpu {
namespace {

class Forward {
 public:
  Forward(ThreadPool& pool, const Operands& operands) noexcept : pool_(pool), operands_(operands) {
    const Blocks& blocks = operands.blocks();
    scratch_.units = blocks.count() * operands.groups();
    size_t product = 0;
    blocks.for_each_size([&](const Block& block) {
      if (!operands_.is_input_matrix(block)) input_size_ = operands_.matrix_size(operands_.taps(), input_dtype());
      if (!operands_.is_output_matrix(block)) output_size_ = operands_.matrix_size(operands_.filters(), output_dtype());
      product = std::max(product, gemm_workspace(pool_, scratch_.threads(), product_of(block, 0, nullptr)));
    });
    scratch_.per_thread = input_size_ + output_size_ + in_cache_lines(product);
  }

  size_t workspace() const { return scratch_.total(pool_); }

  void run(void* workspace) const noexcept {
    const int64_t row_blocks = operands_.blocks().row_blocks();
    for_each_unit(pool_, scratch_, workspace, [&](int64_t unit, std::byte* memory) {
      const int64_t block = unit / operands_.groups();
      run_block(operands_.blocks().at(block / row_blocks, block % row_blocks), unit % operands_.groups(), memory);
    });
  }

 private:
  DType input_dtype() const { return operands_.args().input.dtype; }
  DType output_dtype() const { return operands_.args().output.dtype; }

  // A thread's memory holds the gathered input, then output that is not in place, then the product's scratch.
  GemmArgs product_of(const Block& block, int64_t group, std::byte* memory) const {
    const View output = operands_.output(block, group, at_offset(memory, input_size_));
    return {.a = operands_.weights(group),
            .b = operands_.input(block, group, memory),
            .residual = row_bias(operands_.args().bias, group * operands_.filters(), output),
            .c = output,
            .rounds_to_tf32 = operands_.rounds_to_tf32()};
  }

  void run_block(const Block& block, int64_t group, std::byte* memory) const {
    operands_.gather_input(block, group, memory);
    const GemmArgs args = product_of(block, group, memory);
    gemm(pool_, scratch_.threads(), args, memory + input_size_ + output_size_);
    if (!operands_.is_output_matrix(block)) spread(block, group, args.c);
  }

  // Copies the columns of whole images to their planes; output is contiguous.
  void spread(const Block& block, int64_t group, const View& matrix) const {
    const View& output = operands_.args().output;
    const size_t size = size_of(output.dtype);
    const int64_t positions = output.shape[2] * output.shape[3];
    for (int64_t n = 0; n < block.images; ++n) {
      for (int64_t o = 0; o < operands_.filters(); ++o) {
        const int64_t plane = (block.image + n) * output.shape[1] + group * operands_.filters() + o;
        const int64_t from = o * matrix.strides[0] + n * positions;
        std::memcpy(at_offset(output.data, static_cast<size_t>(plane * positions) * size),
                    at_offset(matrix.data, static_cast<size_t>(from) * size), static_cast<size_t>(positions) * size);
      }
    }
  }

  ThreadPool& pool_;
  const Operands& operands_;
  ConvScratch scratch_;
  size_t input_size_ = 0;
  size_t output_size_ = 0;
};

}  // namespace

size_t conv_forward_workspace(Stream& stream, const Operands& operands) noexcept {
  return Forward(pool_of(stream), operands).workspace();
}

void conv_forward(Stream& stream, const Operands& operands, void* workspace) noexcept {
  Forward(pool_of(stream), operands).run(workspace);
}

}  // namespace halftone::cpu
