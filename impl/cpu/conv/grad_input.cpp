#include <algorithm>

#include "cpu/conv/passes.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

// At most 256 KiB of FP32, so that patch gradients are added to their planes while they are in L2.
constexpr int64_t kSumElements = int64_t{1} << 16;

// Channels [first, first + count) of a group.
struct Channels {
  int64_t first;
  int64_t count;
};

// Scratch of one unit.
struct Memory {
  std::byte* weights = nullptr;  // transposed weights of all groups; shared
  std::byte* own = nullptr;      // gathered output, patch gradients, sums of planes, the product's scratch
};

// A unit is one group of one block of images, so that only one thread adds to a plane.
class GradInput {
 public:
  GradInput(Stream& stream, const Operands& operands) noexcept
      : stream_(stream), pool_(pool_of(stream)), operands_(operands) {
    const Blocks& blocks = operands.blocks();
    scratch_.units = blocks.image_blocks() * operands.groups();
    size_t product = 0;
    blocks.for_each_size([&](const Block& block) {
      if (!operands_.is_output_matrix(block)) output_size_ = operands_.matrix_size(operands_.filters(), output_dtype());
      for_each_piece(block, [&](const Channels& piece) {
        const GemmArgs args = product_of(block, 0, piece, {});
        product = std::max(product, gemm_workspace(pool_, scratch_.threads(), args));
        if (operands_.is_input_matrix(block)) return;
        input_size_ = std::max(input_size_, operands_.matrix_size(args.c.shape[0], sum_dtype()));
      });
    });
    if (input_size_ != 0 && !sums_in_place()) {
      const int64_t elements = blocks.max_images() * channels() * plane_size();
      planes_size_ = in_cache_lines(static_cast<size_t>(elements) * size_of(sum_dtype()));
    }
    const View& weight = operands.args().weight;
    scratch_.shared = in_cache_lines(static_cast<size_t>(numel(weight.shape)) * size_of(weight.dtype));
    scratch_.per_thread = output_size_ + input_size_ + planes_size_ + in_cache_lines(product);
  }

  size_t workspace() const { return scratch_.total(pool_); }

  void run(void* workspace) const noexcept {
    turn_weights(workspace);
    for_each_unit(pool_, scratch_, workspace, [&](int64_t unit, std::byte* own) {
      run_images(unit / operands_.groups(), unit % operands_.groups(), {static_cast<std::byte*>(workspace), own});
    });
  }

 private:
  const View& target() const { return operands_.args().input; }
  DType sum_dtype() const { return operands_.compute_dtype(); }
  DType output_dtype() const { return operands_.args().output.dtype; }
  int64_t channels() const { return operands_.args().weight.shape[1]; }
  int64_t kernel_size() const { return operands_.args().weight.shape[2] * operands_.args().weight.shape[3]; }
  int64_t plane_size() const { return target().shape[2] * target().shape[3]; }
  bool sums_in_place() const { return target().dtype == sum_dtype(); }

  // Done once for all blocks: the first operand of a product is not packed if its rows are contiguous.
  void turn_weights(void* workspace) const {
    const int64_t filters = operands_.filters();
    View from = operands_.weights(0);
    from.shape = {operands_.groups(), operands_.taps(), filters};
    from.strides = {filters * operands_.taps(), 1, operands_.taps()};
    View to = from;
    to.data = workspace;
    to.strides = contiguous_strides(to.shape);
    kConvertKernels.cast(stream_, from, to);
  }

  // [taps of the piece, filters]
  View turned_weights(int64_t group, const Channels& piece, std::byte* memory) const {
    View view = transposed(operands_.weights(group));
    view.strides = contiguous_strides(view.shape);
    const int64_t first = (group * channels() + piece.first) * kernel_size() * operands_.filters();
    view.data = at_offset(memory, static_cast<size_t>(first) * size_of(view.dtype));
    view.shape[0] = piece.count * kernel_size();
    return view;
  }

  // Calls f(piece) for the channels of a group, as many at once as keep their patches in L2.
  template <class F>
  void for_each_piece(const Block& block, F&& f) const {
    const int64_t patch = kernel_size() * std::max<int64_t>(operands_.blocks().columns_of(block), 1);
    const int64_t wanted = operands_.is_input_matrix(block) ? channels() : std::max<int64_t>(kSumElements / patch, 1);
    for (int64_t c = 0; c < channels(); c += wanted) f(Channels{c, std::min(wanted, channels() - c)});
  }

  GemmArgs product_of(const Block& block, int64_t group, const Channels& piece, const Memory& memory) const {
    const View weights = turned_weights(group, piece, memory.weights);
    const bool in_place = operands_.is_input_matrix(block);
    std::byte* sums = at_offset(memory.own, output_size_);
    const View patches = in_place ? operands_.input(block, group, nullptr)
                                  : operands_.matrix(weights.shape[0], sum_dtype(), block, sums);
    return {.a = weights,
            .b = operands_.output(block, group, memory.own),
            .residual = in_place ? row_bias(operands_.args().bias, group * channels(), patches) : View{},
            .c = patches,
            .rounds_to_tf32 = operands_.rounds_to_tf32()};
  }

  void run_images(int64_t image_block, int64_t group, const Memory& memory) const {
    const Block first = operands_.blocks().at(image_block, 0);
    const View gradient = gradient_of(first, group);
    Patches sums = operands_.patches_of(group);
    sums.planes = sums_in_place() ? gradient : own_planes(gradient, memory.own + output_size_ + input_size_);
    if (!operands_.is_input_matrix(first)) begin_sums(group, sums.planes);
    for (int64_t row_block = 0; row_block < operands_.blocks().row_blocks(); ++row_block) {
      run_block(operands_.blocks().at(image_block, row_block), group, sums, memory);
    }
    if (!operands_.is_input_matrix(first) && !sums_in_place()) kConvertKernels.cast(stream_, sums.planes, gradient);
  }

  void run_block(const Block& block, int64_t group, const Patches& sums, const Memory& memory) const {
    operands_.gather_output(block, group, memory.own);
    for_each_piece(block, [&](const Channels& piece) {
      const GemmArgs args = product_of(block, group, piece, memory);
      gemm(pool_, scratch_.threads(), args, memory.own + output_size_ + input_size_ + planes_size_);
      if (operands_.is_input_matrix(block)) return;
      Patches part = sums;
      part.planes = channels_of(sums.planes, piece.first, piece.count);
      scatter_patches(part, block, args.c.strides[0], args.c.data);
    });
  }

  // The block's images in the tensor that is written.
  View gradient_of(const Block& block, int64_t group) const {
    View view = channels_of(target(), group * channels(), channels());
    view.data = at_offset(view.data, static_cast<size_t>(block.image * view.strides[0]) * size_of(view.dtype));
    view.shape[0] = block.images;
    return view;
  }

  View own_planes(const View& like, std::byte* memory) const {
    return {.data = memory, .dtype = sum_dtype(), .shape = like.shape, .strides = contiguous_strides(like.shape)};
  }

  void begin_sums(int64_t group, const View& planes) const {
    View bias = operands_.args().bias;
    if (bias.data == nullptr) {
      kConvertKernels.fill(stream_, 0.0, planes);
      return;
    }
    bias.data = at_offset(bias.data, static_cast<size_t>(group * channels() * bias.strides[0]) * size_of(bias.dtype));
    bias.strides = {0, bias.strides[0], 0, 0};
    bias.shape = planes.shape;
    kConvertKernels.cast(stream_, bias, planes);
  }

  Stream& stream_;
  ThreadPool& pool_;
  const Operands& operands_;
  ConvScratch scratch_;
  size_t output_size_ = 0;
  size_t input_size_ = 0;
  size_t planes_size_ = 0;
};

}  // namespace

size_t conv_grad_input_workspace(Stream& stream, const Operands& operands) noexcept {
  return GradInput(stream, operands).workspace();
}

void conv_grad_input(Stream& stream, const Operands& operands, void* workspace) noexcept {
  GradInput(stream, operands).run(workspace);
}

}  // namespace halftone::cpu
