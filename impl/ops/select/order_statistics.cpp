// kthvalue, medians and quantiles: the indices at ranks of the order, and the elements there.
#include "ops/select/order_statistics.h"

#include <cmath>
#include <limits>

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/select/order.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Shape reduced_shape(const Tensor& input, int dim, bool keepdim) {
  Shape shape;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != dim || keepdim) shape.push_back(i == dim ? 1 : input.size(i));
  }
  return shape;
}

void require_elements(const Tensor& lines, int dim, const Tensor& input) {
  if (lines.size(dim) > 0) return;
  fail(Code::kInvalidArgument, "dim", "dim of input %s: this dimension has no element to choose from",
       ShapeText(input.shape()).text);
}

// The index of rank `rank`, from an order that reaches so far.
Tensor at_rank(const Tensor& order, int dim, int64_t rank) {
  return contiguous(sliced(order, {.dim = dim, .start = rank, .length = 1}));
}

// The given indices; for a line with NaN the index of its first NaN, which is the largest element.
Tensor or_nan(const char* operation, const Tensor& lines, int dim, const Tensor& indices) {
  if (!is_float(lines.dtype())) return indices;
  const Tensor largest = argmax(lines, dim, true);
  const Tensor has_nan = is_nan(picked(operation, lines, dim, largest));
  return apply_ternary(operation, TernaryOp::kWhere, {has_nan, largest, indices}, DType::kI64);
}

ValuesAndIndices chosen(const Tensor& input, const Tensor& lines, int dim, const Tensor& indices, bool keepdim) {
  const Shape shape = reduced_shape(input, dim, keepdim);
  return {reshape(gather(lines, dim, indices), shape), reshaped(indices, shape)};
}

int64_t lower_median(int64_t count) { return (count - 1) / 2; }

// Elements that equal the median share its gradient.
struct MedianBackward final : Node {
  SavedTensor input;   // a line
  SavedTensor median;  // [1]
  Shape shape;

  const char* name() const noexcept override { return "median"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor grad = empty_like(x);
    if (x.numel() == 0) return inputs.set(0, reshaped(grad, shape));
    launch("median", x.device(), &Kernels::reduce, &ReduceKernels::min_max_backward, reshaped(grads[0], {1}).view(),
           x.view(), median.unpack().view(), grad.view());
    inputs.set(0, reshaped(grad, shape));
  }
  void release_saved() noexcept override {
    input.reset();
    median.reset();
  }
};

// The median of a line, [1].
Tensor median_of(const Tensor& line, const Tensor& input) {
  if (line.numel() == 0) {
    if (is_float(line.dtype())) {
      return full(line.device(), line.dtype(), {1}, std::numeric_limits<double>::quiet_NaN());
    }
    fail(Code::kInvalidArgument, "input", "input %s has no elements, and %s has no NaN", ShapeText(input.shape()).text,
         name_of(line.dtype()));
  }
  const int64_t rank = lower_median(line.numel());
  const Tensor order = indices_in_order("median", line, {.dim = 0}, rank + 1);
  return picked("median", line, 0, or_nan("median", line, 0, at_rank(order, 0, rank)));
}

// Two ranks and the weight of the upper one.
struct Ranks {
  int64_t below;
  int64_t above;
  double weight;
};

// Halves are rounded to even, whatever mode the thread has.
int64_t nearest(double rank) {
  const double below = std::floor(rank), rest = rank - below;
  const bool goes_up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return static_cast<int64_t>(below) + (goes_up ? 1 : 0);
}

Ranks ranks_of(double q, int64_t count, Interpolation interpolation) {
  const double rank = q * static_cast<double>(count - 1);
  const auto below = static_cast<int64_t>(std::floor(rank)), above = static_cast<int64_t>(std::ceil(rank));
  switch (interpolation) {
    case Interpolation::kLower:
      return {below, below, 0};
    case Interpolation::kHigher:
      return {above, above, 0};
    case Interpolation::kNearest:
      return {nearest(rank), nearest(rank), 0};
    case Interpolation::kMidpoint:
      return {below, above, above > below ? 0.5 : 0};
    default:
      return {below, above, rank - static_cast<double>(below)};
  }
}

struct QuantileBackward final : Node {
  SavedTensor below, above;
  double weight;
  int dim;
  Shape lines, shape;  // of the lines, and of the input
  DType dtype;

  const char* name() const noexcept override { return "quantile"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& places = below.unpack();
    const Tensor grad = reshaped(grads[0], places.shape());
    const Tensor sum = full(grad.device(), sum_dtype(dtype), lines, 0.0);
    join_at(name(), {.dim = dim}, scaled(grad, 1 - weight), places, sum);
    if (weight > 0) join_at(name(), {.dim = dim}, scaled(grad, weight), above.unpack(), sum);
    inputs.set(0, reshaped(as_dtype(sum, dtype), shape));
  }
  void release_saved() noexcept override {
    below.reset();
    above.reset();
  }

 private:
  Tensor scaled(const Tensor& grad, double factor) const {
    return reduce_to(grad, grad.shape(), sum_dtype(dtype), factor);
  }
};

// low + weight (high - low), from the nearer end; rounded once.
Tensor interpolated(const Tensor& low, const Tensor& high, double weight) {
  if (weight == 0) return low;
  const Tensor step = apply_binary("quantile", BinaryOp::kSubtract, high, low, sum_dtype(low.dtype()));
  const Tensor one = full(low.device(), step.dtype(), {}, 1);
  Tensor result = empty_like(low);
  const bool from_low = weight < 0.5;
  launch("quantile", low.device(), &Kernels::elementwise, &ElementwiseKernels::addcmul, from_low ? weight : weight - 1,
         (from_low ? low : high).view(), step.view(), expand(one, step.shape()), result.view());
  return result;
}

}  // namespace

ValuesAndIndices kthvalue(const Tensor& input, int64_t k, int64_t dim, bool keepdim) {
  const int along = checked_line_dim(input, dim);
  const Tensor lines = as_lines(input);
  if (k < 1 || k > lines.size(along)) {
    fail(Code::kInvalidArgument, "k", "k=%lld is outside [1, %lld], the elements along dim %d of input %s",
         static_cast<long long>(k), static_cast<long long>(lines.size(along)), along, ShapeText(input.shape()).text);
  }
  const Tensor order = indices_in_order("kthvalue", lines, {.dim = along}, k);
  return chosen(input, lines, along, at_rank(order, along, k - 1), keepdim);
}

Tensor median(const Tensor& input) {
  require_arithmetic(input, "input");
  const Tensor line = contiguous(reshaped(input.detach(), {input.numel()}));
  const Tensor value = median_of(line, input);
  Tensor result = reshaped(value, {});
  if (auto* node = record<MedianBackward>(result, {&input})) {
    node->input = SavedTensor(line);
    node->median = SavedTensor(value);
    node->shape = input.shape();
  }
  return result;
}

ValuesAndIndices median_dim(const Tensor& input, int64_t dim, bool keepdim) {
  const int along = checked_line_dim(input, dim);
  const Tensor lines = as_lines(input);
  require_elements(lines, along, input);
  const int64_t rank = lower_median(lines.size(along));
  const Tensor order = indices_in_order("median_dim", lines, {.dim = along}, rank + 1);
  const Tensor indices = or_nan("median_dim", lines, along, at_rank(order, along, rank));
  return chosen(input, lines, along, indices, keepdim);
}

Tensor quantile(const Tensor& input, double q, int64_t dim, bool keepdim, Interpolation interpolation) {
  require_float(input, "input");
  const int along = checked_line_dim(input, dim);
  if (!(q >= 0 && q <= 1)) fail(Code::kInvalidArgument, "q", "q=%g is outside [0, 1]", q);
  const Tensor lines = reshaped(input.detach(), input.rank() == 0 ? Shape{1} : input.shape());
  require_elements(lines, along, input);
  const Ranks ranks = ranks_of(q, lines.size(along), interpolation);
  const Tensor order = indices_in_order("quantile", lines, {.dim = along}, ranks.above + 1);
  const Tensor below = or_nan("quantile", lines, along, at_rank(order, along, ranks.below));
  const Tensor above = ranks.weight == 0 ? below : or_nan("quantile", lines, along, at_rank(order, along, ranks.above));
  const Tensor low = picked("quantile", lines, along, below), high = picked("quantile", lines, along, above);
  Tensor result = reshaped(interpolated(low, high, ranks.weight), reduced_shape(input, along, keepdim));
  if (auto* node = record<QuantileBackward>(result, {&input})) {
    node->below = SavedTensor(below);
    node->above = SavedTensor(above);
    node->weight = ranks.weight;
    node->dim = along;
    node->lines = lines.shape();
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
