#include <algorithm>

#include "cpu/conv/passes.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

// At most 16 partial sums, in at most 16 MiB of FP32; they are added at the end.
constexpr int64_t kMaxPartials = 16;
constexpr int64_t kPartialElements = int64_t{1} << 22;

// Blocks are distributed over partial sums [partials, groups, taps, filters]. A unit is one group of one partial sum
// and adds its blocks in order, so the result does not depend on the number of threads.
class GradWeight {
 public:
  GradWeight(Stream& stream, const Operands& operands) noexcept
      : stream_(stream), pool_(pool_of(stream)), operands_(operands) {
    const Blocks& blocks = operands.blocks();
    const int64_t fitting = kPartialElements / (operands.groups() * sum_size());
    partials_ = std::min(blocks.count(), std::clamp<int64_t>(fitting, 1, kMaxPartials));
    scratch_.units = partials_ * operands.groups();
    scratch_.shared = in_cache_lines(static_cast<size_t>(scratch_.units * sum_size()) * size_of(sum_dtype()));
    size_t product = 0;
    blocks.for_each_size([&](const Block& block) {
      if (!operands_.is_input_matrix(block)) input_size_ = operands_.matrix_size(operands_.taps(), input_dtype());
      if (!operands_.is_output_matrix(block)) output_size_ = operands_.matrix_size(operands_.filters(), output_dtype());
      const GemmArgs args = product_of(block, 0, nullptr, nullptr);
      product = std::max(product, gemm_workspace(pool_, scratch_.threads(), args));
    });
    scratch_.per_thread = input_size_ + output_size_ + in_cache_lines(product);
  }

  size_t workspace() const { return scratch_.total(pool_); }

  Status run(void* workspace) const noexcept {
    for_each_unit(pool_, scratch_, workspace, [&](int64_t unit, std::byte* memory) {
      add_up(unit / operands_.groups(), unit % operands_.groups(), sums_of(workspace, unit), memory);
    });
    return add_partials(workspace);
  }

 private:
  DType sum_dtype() const { return operands_.compute_dtype(); }
  DType input_dtype() const { return operands_.args().input.dtype; }
  DType output_dtype() const { return operands_.args().output.dtype; }
  int64_t sum_size() const { return operands_.taps() * operands_.filters(); }

  std::byte* sums_of(void* workspace, int64_t unit) const {
    return at_offset(workspace, static_cast<size_t>(unit * sum_size()) * size_of(sum_dtype()));
  }

  // A thread's memory holds the gathered input, the gathered output, then the product's scratch.
  GemmArgs product_of(const Block& block, int64_t group, std::byte* sums, std::byte* memory) const {
    return {.a = operands_.input(block, group, memory),
            .b = transposed(operands_.output(block, group, at_offset(memory, input_size_))),
            .c = {.data = sums,
                  .dtype = sum_dtype(),
                  .shape = {operands_.taps(), operands_.filters()},
                  .strides = {operands_.filters(), 1}},
            .rounds_to_tf32 = operands_.rounds_to_tf32()};
  }

  void add_up(int64_t partial, int64_t group, std::byte* sums, std::byte* memory) const {
    const Blocks& blocks = operands_.blocks();
    const int64_t begin = partial * blocks.count() / partials_;
    const int64_t end = (partial + 1) * blocks.count() / partials_;
    for (int64_t i = begin; i < end; ++i) {
      const Block block = blocks.at(i / blocks.row_blocks(), i % blocks.row_blocks());
      operands_.gather_input(block, group, memory);
      operands_.gather_output(block, group, memory + input_size_);
      GemmArgs args = product_of(block, group, sums, memory);
      args.store = i == begin ? Store::kWrite : Store::kAdd;
      gemm(pool_, scratch_.threads(), args, memory + input_size_ + output_size_);
    }
  }

  // Stores to weight [groups, o, c, kh, kw] from sums laid out as [groups, c, kh, kw, o]. Without any block the sum is
  // 0.
  Status add_partials(void* workspace) const {
    const View& weight = operands_.args().weight;
    const int64_t filters = operands_.filters();
    const int64_t plane = weight.shape[2] * weight.shape[3];
    const View out = {.data = weight.data,
                      .dtype = weight.dtype,
                      .shape = {1, operands_.groups(), filters, weight.shape[1], weight.shape[2], weight.shape[3]},
                      .strides = {0, filters * weight.strides[0], weight.strides[0], weight.strides[1],
                                  weight.strides[2], weight.strides[3]}};
    View in = {.data = workspace,
               .dtype = sum_dtype(),
               .shape = out.shape,
               .strides = {operands_.groups() * sum_size(), sum_size(), 1, plane * filters, weight.shape[3] * filters,
                           filters}};
    in.shape[0] = partials_;
    return kReduceKernels.sum(stream_, in, 1.0, operands_.args().store, out);
  }

  Stream& stream_;
  ThreadPool& pool_;
  const Operands& operands_;
  int64_t partials_ = 0;
  ConvScratch scratch_;
  size_t input_size_ = 0;
  size_t output_size_ = 0;
};

}  // namespace

size_t conv_grad_weight_workspace(Stream& stream, const Operands& operands) noexcept {
  return GradWeight(stream, operands).workspace();
}

Status conv_grad_weight(Stream& stream, const Operands& operands, void* workspace) noexcept {
  return GradWeight(stream, operands).run(workspace);
}

}  // namespace halftone::cpu
