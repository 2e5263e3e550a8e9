#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/index/scatter_operands.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

constexpr const char* kName = "scatter_reduce";

struct Settings {
  ScatterReduction reduction;
  bool include_self;
  int dim;

  Indexed joining(ScatterOp op) const { return {.dim = dim, .op = op}; }
};

ScatterOp op_of(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::kProd:
      return ScatterOp::kMultiply;
    case ScatterReduction::kAmax:
      return ScatterOp::kMaximum;
    case ScatterReduction::kAmin:
      return ScatterOp::kMinimum;
    default:
      return ScatterOp::kAdd;
  }
}

Tensor number_like(const Tensor& tensor, double number) { return full(tensor.device(), tensor.dtype(), {}, number); }

Tensor filled_like(const Tensor& tensor, double number) {
  return full(tensor.device(), tensor.dtype(), tensor.shape(), number);
}

Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b) { return apply_binary(kName, op, a, b, a.dtype()); }

// How many elements each result is the mean of, at least 1; `like` has the shape and dtype of the result.
Tensor counts_of(const Settings& settings, const Tensor& like, const Tensor& source, const Tensor& index) {
  const Tensor counts = filled_like(like, settings.include_self ? 1 : 0);
  join_at(kName, settings.joining(ScatterOp::kAdd), filled_like(source, 1), index, counts);
  return settings.include_self ? counts : binary(BinaryOp::kMaximum, counts, number_like(counts, 1));
}

// Puts a first value to the places that leave out the input's own. A maximum or minimum begins with one of its
// elements.
void put_first(const Settings& settings, const Tensor& source, const Tensor& index, const Tensor& result) {
  if (settings.include_self) return;
  const bool chooses = settings.reduction == ScatterReduction::kAmax || settings.reduction == ScatterReduction::kAmin;
  const Tensor first = chooses ? source : filled_like(source, settings.reduction == ScatterReduction::kProd ? 1 : 0);
  join_at(kName, settings.joining(ScatterOp::kAssign), first, index, result);
}

// The part of the result that the index reaches, in the sum's dtype.
Tensor reduced(const Settings& settings, const Tensor& part, const Tensor& source, const Tensor& index) {
  const Tensor result = converted(part, sum_dtype(part.dtype()));
  put_first(settings, source, index, result);
  join_at(kName, settings.joining(op_of(settings.reduction)), source, index, result);
  if (settings.reduction != ScatterReduction::kMean) return result;
  return binary(BinaryOp::kDivide, result, counts_of(settings, result, as_dtype(source, result.dtype()), index));
}

// The gradients of the input's part and of the source, in the sum's dtype.
struct Gradients {
  Tensor input;
  Tensor source;
};

struct ScatterReduceBackward final : Node {
  Settings settings;
  SavedTensor index;
  SavedTensor input, source, result;  // only for products, maxima and minima
  Shape part;                         // of the input that the index reaches
  Shape source_shape;
  DType dtype;

  const char* name() const noexcept override { return kName; }

  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor places = checked_again(index.unpack(), grads[0], settings.dim);
    const Tensor grad = as_dtype(corner(grads[0], part), sum_dtype(dtype));
    Gradients made = gradients(grad, places);
    // An own value that the result left out has no effect.
    if (!settings.include_self) made.input = filled_at(kName, made.input, settings.dim, places, 0.0);
    if (inputs.needs(0)) inputs.set(0, in_corner_of(grads[0], made.input));
    if (inputs.needs(1)) inputs.set(1, in_corner_of_zeros(as_dtype(made.source, dtype), source_shape));
  }

  void release_saved() noexcept override {
    for (SavedTensor* saved : {&index, &input, &source, &result}) saved->reset();
  }

 private:
  Tensor wide(const SavedTensor& saved, const Shape& shape) const {
    return as_dtype(contiguous(corner(saved.unpack(), shape)), sum_dtype(dtype));
  }

  Gradients gradients(const Tensor& grad, const Tensor& places) const {
    switch (settings.reduction) {
      case ScatterReduction::kSum:
        return {grad, picked(kName, grad, settings.dim, places)};
      case ScatterReduction::kMean:
        return of_mean(grad, places);
      case ScatterReduction::kProd:
        return of_product(grad, places);
      default:
        return of_choice(grad, places);
    }
  }

  Gradients of_mean(const Tensor& grad, const Tensor& places) const {
    const Tensor source_like = full(grad.device(), grad.dtype(), places.shape(), 0.0);
    const Tensor share = binary(BinaryOp::kDivide, grad, counts_of(settings, grad, source_like, places));
    return {share, picked(kName, share, settings.dim, places)};
  }

  // The gradient of a factor is the product of the others, also where factors are 0: the product of the factors that
  // are not 0, divided by the factor itself, unless another factor is 0.
  Gradients of_product(const Tensor& grad, const Tensor& places) const {
    const Tensor x = wide(input, part), factors = wide(source, places.shape());
    const Tensor zeros = as_dtype(eq(factors, number_like(factors, 0)), factors.dtype());
    const Tensor others = binary(BinaryOp::kAdd, factors, zeros);  // 1 in place of 0
    const Tensor of_source = filled_like(x, 1),
                 without_zeros = settings.include_self ? converted(x, x.dtype()) : filled_like(x, 1);
    join_at(kName, settings.joining(ScatterOp::kMultiply), factors, places, of_source);
    join_at(kName, settings.joining(ScatterOp::kMultiply), others, places, without_zeros);
    const Tensor zero_counts = filled_like(x, 0);
    join_at(kName, settings.joining(ScatterOp::kAdd), zeros, places, zero_counts);
    const Tensor product = picked(kName, binary(BinaryOp::kMultiply, grad, without_zeros), settings.dim, places);
    const Tensor is_only_zero = eq(picked(kName, zero_counts, settings.dim, places), zeros);
    return {binary(BinaryOp::kMultiply, grad, of_source),
            apply_ternary(kName, TernaryOp::kWhere,
                          {is_only_zero, binary(BinaryOp::kDivide, product, others), number_like(product, 0)},
                          product.dtype())};
  }

  // Elements that equal the result share its gradient.
  Gradients of_choice(const Tensor& grad, const Tensor& places) const {
    const Tensor chosen = wide(result, part), choices = wide(source, places.shape());
    Tensor own = as_dtype(eq(wide(input, part), chosen), grad.dtype());
    if (!settings.include_self) own = filled_at(kName, own, settings.dim, places, 0.0);
    const Tensor others = as_dtype(eq(choices, picked(kName, chosen, settings.dim, places)), grad.dtype());
    const Tensor counts = converted(own, own.dtype());
    join_at(kName, settings.joining(ScatterOp::kAdd), others, places, counts);
    const Tensor share = binary(BinaryOp::kDivide, grad, counts);
    return {binary(BinaryOp::kMultiply, own, share),
            binary(BinaryOp::kMultiply, others, picked(kName, share, settings.dim, places))};
  }
};

}  // namespace

Tensor scatter_reduce(const Tensor& given_input, int64_t dim, const Tensor& index, const Tensor& given_source,
                      ScatterReduction reduction, bool include_self) {
  const auto [input, source] = autocast_operands(Op::kScatterReduce, given_input, given_source);
  if (reduction == ScatterReduction::kMean) require_float(input, "input");
  const ScatterOperands operands = element_operands(Op::kScatterReduce, input, dim, index, source);
  const Settings settings = {reduction, include_self, operands.dim};
  const Shape part = reached(input, operands.dim, operands.index);
  const Tensor joined = reduced(settings, corner(input, part), corner(source, operands.index.shape()), operands.index);
  Tensor result = in_corner_of(input, joined);
  if (auto* node = record<ScatterReduceBackward>(result, {&input, &source})) {
    node->settings = settings;
    node->index = SavedTensor(operands.index);
    node->part = part;
    node->source_shape = source.shape();
    node->dtype = input.dtype();
    if (reduction == ScatterReduction::kSum || reduction == ScatterReduction::kMean) return result;
    node->input = SavedTensor(input);
    node->source = SavedTensor(source);
    if (reduction != ScatterReduction::kProd) node->result = SavedTensor(result);
  }
  return result;
}

}  // namespace halftone::ops
