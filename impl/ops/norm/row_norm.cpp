#include "ops/norm/row_norm.h"

#include <algorithm>
#include <utility>

#include "backend/chunks.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/norm/affine.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

// The number of pieces that backward cuts the rows into, by the shape alone. A piece has about a chunk of elements:
// enough rows that the pieces' sums take little memory, and few enough that adding them one by one loses little
// precision.
int64_t piece_count(const RowNorm& norm, int64_t elements) {
  if (elements == 0) return 0;
  const int64_t length = elements / norm.rows;
  const int64_t fewest = norm.groups == norm.rows ? 4 : 16;  // rows with few channels each have little to add
  const int64_t rows_per_piece = std::clamp<int64_t>(kChunkSize / length, fewest, 256);
  return (norm.rows + rows_per_piece - 1) / rows_per_piece;
}

// The tensor as a view in the order of the rows.
View rows_of(const Tensor& tensor, bool by_channel) {
  View view = view_or_null(tensor);
  if (!by_channel || view.rank() < 2) return view;
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

struct RowNormBackward final : Node {
  Op op;
  RowNorm norm;
  bool by_channel;
  int64_t channels;
  SavedTensor input;
  bool has_weight = false;
  SavedTensor weight;
  SavedTensor statistics;  // f64 [2, rows]: means, then variances
  Shape weight_shape;
  DType weight_dtype = DType::kF32;
  Shape bias_shape;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const DType compute = norm_compute_dtype(x.dtype());
    const Tensor scale = has_weight ? affine_operand(weight.unpack(), compute) : Tensor();
    const int64_t pieces = piece_count(norm, x.numel());
    const auto sums_if = [&](int which) {
      return inputs.needs(which) ? empty(x.device(), compute, {pieces, channels}) : Tensor();
    };
    const Tensor grad_input = inputs.needs(0) ? empty_like(x) : Tensor();
    const Tensor weight_sums = sums_if(1);
    const Tensor bias_sums = sums_if(2);
    launch(name(), x.device(), &Kernels::norm, &NormKernels::row_norm_backward, norm,
           NormSaved{.grad_output = rows_of(grads[0], by_channel),
                     .x = rows_of(x, by_channel),
                     .weight = view_or_null(scale),
                     .statistics = row_statistics(statistics.unpack())},
           NormGrads{.input = rows_of(grad_input, by_channel),
                     .weight_sums = view_or_null(weight_sums),
                     .bias_sums = view_or_null(bias_sums),
                     .pieces = pieces});
    if (inputs.needs(0)) inputs.set(0, grad_input);
    if (inputs.needs(1)) inputs.set(1, affine_gradient(name(), weight_sums, weight_dtype, weight_shape));
    if (inputs.needs(2)) inputs.set(2, affine_gradient(name(), bias_sums, bias_dtype, bias_shape));
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
    statistics.reset();
  }

  // Views, since a tensor for each row of [2, rows] would be a heap allocation in every norm.
  static NormStatistics row_statistics(const Tensor& both) {
    const int64_t rows = both.size(1);
    View mean = both.view();
    mean.shape = {rows};
    mean.strides = {1};
    View variance = mean;
    variance.data = static_cast<double*>(mean.data) + rows;
    return {.mean = mean, .variance = variance};
  }
};

}  // namespace

Tensor apply_row_norm(Op op, const RowNorm& norm, const NormOperands& operands, int64_t channels) {
  const auto [x, dtype] = autocast_unary(op, operands.input);
  const DType compute = norm_compute_dtype(x.dtype());
  const Tensor weight = affine_operand(operands.weight, compute);
  const Tensor bias = affine_operand(operands.bias, compute);
  const Tensor statistics = operands.statistics.defined()
                                ? operands.statistics
                                : empty(x.device(), DType::kF64, {2, norm.rows}, Category::kActivations);
  Tensor result = empty(x.device(), dtype, x.shape());
  launch(name_of(op), x.device(), &Kernels::norm, &NormKernels::row_norm, norm, rows_of(x, operands.by_channel),
         NormAffine{.weight = view_or_null(weight), .bias = view_or_null(bias)},
         RowNormBackward::row_statistics(statistics), rows_of(result, operands.by_channel));
  if (auto* node = record<RowNormBackward>(result, {&x, &operands.weight, &operands.bias}, name_of(op))) {
    node->op = op;
    node->norm = norm;
    node->by_channel = operands.by_channel;
    node->channels = channels;
    node->input = SavedTensor(x);
    node->statistics = SavedTensor(statistics);
    if (operands.weight.defined()) {
      node->has_weight = true;
      node->weight = SavedTensor(operands.weight);
      node->weight_shape = operands.weight.shape();
      node->weight_dtype = operands.weight.dtype();
    }
    if (operands.bias.defined()) {
      node->bias_shape = operands.bias.shape();
      node->bias_dtype = operands.bias.dtype();
    }
  }
  return result;
}

}  // namespace halftone
