// max_dim, min_dim, argmax and argmin: maxima and minima along one dimension, with their indices.
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/min_max.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct MinMaxDimBackward final : Node {
  Op op;
  SavedTensor indices;  // of the kept shape
  Shape shape;
  DType dtype;
  int dim;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& at = indices.unpack();
    Tensor grad = empty(at.device(), dtype, shape);
    launch(name(), at.device(), &Kernels::reduce, &ReduceKernels::one_hot, reshaped(grads[0], at.shape()).view(),
           at.view(), dim, grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { indices.reset(); }
};

ValuesAndIndices find(const MinMaxKind& kind, const Tensor& input, const Reduction& reduction) {
  const Reduced values = apply_min_max(kind, input, reduction, "dim");
  const Reduced indices = empty_reduced(input, reduction, DType::kI64);
  launch(kind.name(), input.device(), &Kernels::reduce, &ReduceKernels::index_of, input.view(), values.kept,
         indices.kept);
  return {values.result, indices.result};
}

ValuesAndIndices choose(const MinMaxKind& kind, const Tensor& input, int64_t dim, bool keepdim) {
  require_arithmetic(input, "input");
  const int along = checked_dim(dim, input.rank(), "dim");
  const Reduction reduction = plan_reduction(input.shape(), {along}, keepdim);
  ValuesAndIndices found = find(kind, input, reduction);
  if (!is_float(input.dtype())) return found;  // integers have no gradient
  if (auto* node = record<MinMaxDimBackward>(found.values, {&input}, kind.name())) {
    node->op = kind.op;
    node->indices = SavedTensor(reshaped(found.indices, reduction.kept));
    node->shape = input.shape();
    node->dtype = input.dtype();
    node->dim = along;
  }
  return found;
}

Tensor index(const MinMaxKind& kind, const Tensor& input, int64_t dim, bool keepdim) {
  require_arithmetic(input, "input");
  const int along = checked_dim(dim, input.rank(), "dim");
  return find(kind, input, plan_reduction(input.shape(), {along}, keepdim)).indices;
}

}  // namespace

ValuesAndIndices max_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return choose({Op::kMaxDim, MinMax::kMax}, input, dim, keepdim);
}
ValuesAndIndices min_dim(const Tensor& input, int64_t dim, bool keepdim) {
  return choose({Op::kMinDim, MinMax::kMin}, input, dim, keepdim);
}
Tensor argmax(const Tensor& input, int64_t dim, bool keepdim) {
  return index({Op::kArgmax, MinMax::kMax}, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, int64_t dim, bool keepdim) {
  return index({Op::kArgmin, MinMax::kMin}, input, dim, keepdim);
}

}  // namespace halftone::ops
