#include "cuda/conv/products.h"

#include <algorithm>

#include "cuda/base/kernel_groups.h"
#include "cuda/conv/columns.h"
#include "cuda/conv/weight.h"
#include "cuda/gemm/lt_multiply.h"

namespace halftone::cuda {
namespace {

View matrix(void* data, DType dtype, int64_t rows, int64_t columns) {
  return {.data = data, .dtype = dtype, .shape = {rows, columns}, .strides = {columns, 1}};
}

View rows_of(const View& matrix, int64_t first, int64_t count) {
  View rows = matrix;
  const int64_t offset = first * matrix.strides[0] * static_cast<int64_t>(size_of(matrix.dtype));
  if (matrix.data != nullptr) rows.data = static_cast<char*>(matrix.data) + offset;
  rows.shape[0] = count;
  return rows;
}

View turned(const View& matrix) {
  return {.data = matrix.data,
          .dtype = matrix.dtype,
          .shape = {matrix.shape[1], matrix.shape[0]},
          .strides = {matrix.strides[1], matrix.strides[0]}};
}

DType sum_dtype(const ConvArgs& args) { return args.weight.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// [channels, elements of a plane] of one image, whose planes are dense.
View image(const View& images, int64_t n) {
  const int64_t offset = n * images.strides[0] * static_cast<int64_t>(size_of(images.dtype));
  return {.data = static_cast<char*>(images.data) + offset,
          .dtype = images.dtype,
          .shape = {images.shape[1], images.shape[2] * images.shape[3]},
          .strides = {images.strides[1], 1}};
}

// The products of all tiles. Their matrices have a row for each channel of output, or element under a window, of all
// groups, and a column for each position:
//   windows [groups * depth, positions]: columns of the input, or the sums of their gradient
//   outputs [groups * outputs, positions]: columns of the output, or its sums
//   weights [groups * outputs, depth]: the weight, or the sums of its gradient
// The workspace holds both matrices of a tile, the gradient of the weight, then the scratch of a product.
class Products {
 public:
  Products(Stream& stream, ConvPass pass, const ConvArgs& args, const ColumnPlan& plan, void* workspace)
      : stream_(stream),
        pass_(pass),
        args_(args),
        plan_(plan),
        conv_(convolution_of(args)),
        sizes_(conv_sizes(pass, args)),
        outputs_at_(bytes_of(sizes_.depth, windows_dtype())),
        weights_at_(outputs_at_ + bytes_of(sizes_.outputs, outputs_dtype())),
        scratch_at_(weights_at_ + weight_bytes()),
        workspace_(static_cast<char*>(workspace)) {}

  // Operands in place differ in their alignment, and so may algorithms.
  size_t workspace() const {
    size_t scratch = 0;
    for (int64_t first = 0; first < positions(); first += plan_.length) {
      for (int64_t group = 0; group < sizes_.groups; ++group) {
        scratch = std::max(scratch, kGemmKernels.schedule(stream_, product(tile_at(first), group)).workspace);
      }
    }
    return scratch_at_ + scratch;
  }

  Status run() const {
    Status status;
    for (int64_t first = 0; status.ok() && first < positions(); first += plan_.length) {
      status = run_tile(tile_at(first));
    }
    if (!status.ok() || pass_ != ConvPass::kGradWeight) return status;
    return store_weight(stream_, args_, at(weights_at_), 1);
  }

 private:
  int64_t positions() const { return sizes_.images * sizes_.plane; }
  Positions tile_at(int64_t first) const { return {first, std::min(plan_.length, positions() - first)}; }
  DType windows_dtype() const { return pass_ == ConvPass::kGradInput ? sum_dtype(args_) : args_.input.dtype; }
  DType outputs_dtype() const { return pass_ == ConvPass::kForward ? sum_dtype(args_) : args_.output.dtype; }
  size_t bytes_of(int64_t rows, DType dtype) const {
    return rounded_up(static_cast<size_t>(sizes_.groups * rows * plan_.length) * size_of(dtype));
  }
  size_t weight_bytes() const {
    if (pass_ != ConvPass::kGradWeight) return 0;
    return rounded_up(static_cast<size_t>(args_.weight.numel()) * size_of(sum_dtype(args_)));
  }
  void* at(size_t offset) const { return workspace_ == nullptr ? nullptr : workspace_ + offset; }

  bool is_image(const Positions& tile) const { return tile.count == sizes_.plane && tile.first % sizes_.plane == 0; }
  bool has_input_in_place(const Positions& tile) const { return is_image(tile) && has_input_as_columns(args_); }
  bool has_output_in_place(const Positions& tile) const { return is_image(tile) && has_dense_planes(args_.output); }

  View windows_of(const Positions& tile) const {
    if (pass_ != ConvPass::kGradInput && has_input_in_place(tile)) return image(args_.input, tile.first / sizes_.plane);
    return matrix(at(0), windows_dtype(), sizes_.groups * sizes_.depth, tile.count);
  }
  View outputs_of(const Positions& tile) const {
    if (pass_ != ConvPass::kForward && has_output_in_place(tile)) return image(args_.output, tile.first / sizes_.plane);
    return matrix(at(outputs_at_), outputs_dtype(), sizes_.groups * sizes_.outputs, tile.count);
  }
  View weights() const {
    const bool is_sum = pass_ == ConvPass::kGradWeight;
    return matrix(is_sum ? at(weights_at_) : args_.weight.data, is_sum ? sum_dtype(args_) : args_.weight.dtype,
                  sizes_.groups * sizes_.outputs, sizes_.depth);
  }

  GemmArgs product(const Positions& tile, int64_t group) const {
    const View windows = rows_of(windows_of(tile), group * sizes_.depth, sizes_.depth);
    const View outputs = rows_of(outputs_of(tile), group * sizes_.outputs, sizes_.outputs);
    const View weight = rows_of(weights(), group * sizes_.outputs, sizes_.outputs);
    if (pass_ == ConvPass::kForward) return {.a = weight, .b = windows, .c = outputs};
    if (pass_ == ConvPass::kGradInput) return {.a = turned(weight), .b = outputs, .c = windows};
    const Store store = tile.first == 0 ? Store::kWrite : Store::kAdd;
    return {.a = outputs, .b = turned(windows), .store = store, .c = weight};
  }

  Status gather(const Positions& tile) const {
    Status status;
    if (pass_ != ConvPass::kGradInput && !has_input_in_place(tile)) {
      status = gather_columns(stream_, conv_, tile, at(0));
    }
    if (!status.ok() || pass_ == ConvPass::kForward || has_output_in_place(tile)) return status;
    return gather_columns(stream_, elements_of_output(conv_), tile, at(outputs_at_));
  }

  Status spread(const Positions& tile) const {
    if (pass_ == ConvPass::kForward) return add_columns(stream_, elements_of_output(conv_), tile, at(outputs_at_));
    if (pass_ == ConvPass::kGradInput) return add_columns(stream_, conv_, tile, at(0));
    return {};
  }

  Status run_tile(const Positions& tile) const {
    Status status = gather(tile);
    for (int64_t group = 0; status.ok() && group < sizes_.groups; ++group) {
      const GemmArgs args = product(tile, group);
      status = kGemmKernels.run(stream_, args, kGemmKernels.schedule(stream_, args), at(scratch_at_));
    }
    return status.ok() ? spread(tile) : status;
  }

  Stream& stream_;
  const ConvPass pass_;
  const ConvArgs& args_;
  const ColumnPlan plan_;
  const Convolution conv_;
  const ConvSizes sizes_;
  const size_t outputs_at_, weights_at_, scratch_at_;
  char* const workspace_;
};

}  // namespace

size_t product_workspace(Stream& stream, ConvPass pass, const ConvArgs& args, const ColumnPlan& plan) noexcept {
  return Products(stream, pass, args, plan, nullptr).workspace();
}

Status convolve_by_products(Stream& stream, ConvPass pass, const ConvArgs& args, const ColumnPlan& plan,
                            void* workspace) noexcept {
  return Products(stream, pass, args, plan, workspace).run();
}

}  // namespace halftone::cuda
