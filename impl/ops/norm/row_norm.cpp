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

// A piece has about a chunk of elements: enough rows that the pieces' sums take little memory, and few enough that
// adding them one by one loses little precision.
int64_t piece_count(const RowNorm& norm, int64_t elements) {
  if (elements == 0) return 0;
  const int64_t length = elements / norm.rows;
  const int64_t fewest = norm.groups == norm.rows ? 4 : 16;  // rows with few channels each have little to add
  const int64_t rows_per_piece = std::clamp<int64_t>(kChunkSize / length, fewest, 256);
  return (norm.rows + rows_per_piece - 1) / rows_per_piece;
}

View rows_of(const Tensor& tensor, bool by_channel) {
  View view = view_or_null(tensor);
  if (!by_channel || view.rank() < 2) return view;
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  return view;
}

NormStatistics row_statistics(const Tensor& both) {
  const int64_t rows = both.size(1);
  View mean = both.view();
  mean.shape = {rows};
  mean.strides = {1};
  View variance = mean;
  variance.data = static_cast<double*>(mean.data) + rows;
  return {.mean = mean, .variance = variance};
}

namespace {

// Has one result, the normalised rows; with a residual also the sum. Its inputs: the input, weight, bias, residual.
struct RowNormBackward final : Node {
  explicit RowNormBackward(uint32_t result_count = 1) : Node(result_count) {}

  Op op;
  RowNorm norm;
  bool by_channel;
  int64_t channels;
  SavedTensor input;  // or the sum
  DType input_dtype = DType::kF32;
  DType residual_dtype = DType::kF32;
  bool has_weight = false;
  SavedTensor weight;
  SavedTensor statistics;  // f64 [2, rows]: means, then variances
  Shape weight_shape;
  DType weight_dtype = DType::kF32;
  Shape bias_shape;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad_sum = result_count() > 1 ? grads[1] : Tensor();
    if (!grads[0].defined()) return set_input_gradients(inputs, grad_sum);
    const Tensor& x = input.unpack();
    const DType compute = norm_compute_dtype(x.dtype());
    const Tensor scale = has_weight ? affine_operand(weight.unpack(), compute) : Tensor();
    const int64_t pieces = piece_count(norm, x.numel());
    const auto sums_if = [&](int which) {
      return inputs.needs(which) ? empty(x.device(), compute, {pieces, channels}) : Tensor();
    };
    const Tensor grad_input = needs_input(inputs) ? empty_like(x) : Tensor();
    const Tensor weight_sums = sums_if(1);
    const Tensor bias_sums = sums_if(2);
    launch(name(), x.device(), &Kernels::norm, &NormKernels::row_norm_backward, norm,
           NormSaved{.grad_output = rows_of(grads[0], by_channel),
                     .x = rows_of(x, by_channel),
                     .weight = view_or_null(scale),
                     .statistics = row_statistics(statistics.unpack()),
                     .grad_sum = view_or_null(grad_sum)},
           NormGrads{.input = rows_of(grad_input, by_channel),
                     .weight_sums = view_or_null(weight_sums),
                     .bias_sums = view_or_null(bias_sums),
                     .pieces = pieces});
    if (needs_input(inputs)) set_input_gradients(inputs, grad_input);
    if (inputs.needs(1)) inputs.set(1, affine_gradient(name(), weight_sums, weight_dtype, weight_shape));
    if (inputs.needs(2)) inputs.set(2, affine_gradient(name(), bias_sums, bias_dtype, bias_shape));
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
    statistics.reset();
  }

 private:
  static constexpr int kResidual = 3;

  bool has_residual() const { return result_count() > 1; }
  bool needs_input(const InputGrads& inputs) const {
    return inputs.needs(0) || (has_residual() && inputs.needs(kResidual));
  }
  // The residual has the input's gradient.
  void set_input_gradients(InputGrads& inputs, const Tensor& grad) const {
    const auto in = [&grad](DType dtype) { return grad.dtype() == dtype ? grad : converted(grad, dtype); };
    if (inputs.needs(0)) inputs.set(0, in(input_dtype));
    if (has_residual() && inputs.needs(kResidual)) inputs.set(kResidual, in(residual_dtype));
  }
};

}  // namespace

namespace {

// One normalisation in the making.
struct Call {
  Op op;
  const RowNorm& norm;
  const NormOperands& operands;
  int64_t channels;

  // Writes statistics and result.
  void launch_forward(const NormInput& input, DType compute, const Tensor& statistics, const Tensor& result) const {
    const Tensor weight = affine_operand(operands.weight, compute);
    const Tensor bias = affine_operand(operands.bias, compute);
    launch(name_of(op), result.device(), &Kernels::norm, &NormKernels::row_norm, norm, input,
           NormAffine{.weight = view_or_null(weight), .bias = view_or_null(bias)}, row_statistics(statistics),
           rows_of(result, operands.by_channel));
  }
  Tensor new_statistics(ContextDevice& device) const {
    return empty(device, DType::kF64, {2, norm.rows}, Category::kActivations);
  }
  // `x` is what was normalised.
  void save(RowNormBackward& node, const Tensor& x, const Tensor& statistics) const {
    node.op = op;
    node.norm = norm;
    node.by_channel = operands.by_channel;
    node.channels = channels;
    node.input = SavedTensor(x);
    node.input_dtype = x.dtype();
    node.statistics = SavedTensor(statistics);
    if (operands.weight.defined()) {
      node.has_weight = true;
      node.weight = SavedTensor(operands.weight);
      node.weight_shape = operands.weight.shape();
      node.weight_dtype = operands.weight.dtype();
    }
    if (operands.bias.defined()) {
      node.bias_shape = operands.bias.shape();
      node.bias_dtype = operands.bias.dtype();
    }
  }
};

}  // namespace

Tensor apply_row_norm(Op op, const RowNorm& norm, const NormOperands& operands, int64_t channels) {
  const Call call = {op, norm, operands, channels};
  const auto [x, dtype] = autocast_unary(op, operands.input);
  const Tensor statistics = operands.statistics.defined() ? operands.statistics : call.new_statistics(x.device());
  Tensor result = empty(x.device(), dtype, x.shape());
  call.launch_forward({rows_of(x, operands.by_channel)}, norm_compute_dtype(x.dtype()), statistics, result);
  if (auto* node = record<RowNormBackward>(result, {&x, &operands.weight, &operands.bias}, name_of(op))) {
    call.save(*node, x, statistics);
  }
  return result;
}

ops::SumAndNorm apply_row_norm_to_sum(Op op, const RowNorm& norm, const NormOperands& operands, const Tensor& residual,
                                      int64_t channels) {
  const Call call = {op, norm, operands, channels};
  const Tensor& x = operands.input;
  const Tensor sum = empty(x.device(), promote(x.dtype(), residual.dtype()), x.shape());
  const Tensor statistics = call.new_statistics(x.device());
  Tensor result = empty(x.device(), operands.result.value_or(autocast_unary(op, sum).result), x.shape());
  call.launch_forward({x.view(), residual.view(), sum.view()}, norm_compute_dtype(sum.dtype()), statistics, result);
  const Tensor* const inputs[] = {&x, &operands.weight, &operands.bias, &residual};
  if (is_watched()) {
    watch_result(name_of(op), sum, inputs);
    watch_result(name_of(op), result, inputs);
  }
  if (!should_record(inputs)) return {sum, result};
  Ref<RowNormBackward> node = make_ref<RowNormBackward>(2u);
  call.save(*node, sum.detach(), statistics);
  node->input_dtype = x.dtype();
  node->residual_dtype = residual.dtype();
  connect(node, result, inputs);
  sum.storage()->set_category(Category::kActivations);
  sum.set_gradient_source(node, 1);
  return {sum, result};
}

}  // namespace halftone
