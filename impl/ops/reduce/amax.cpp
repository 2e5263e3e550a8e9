// amax and amin; any and all, which are the maximum and minimum of bools.
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/min_max.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct MinMaxBackward final : Node {
  Op op;
  SavedTensor input;
  SavedTensor values;  // of the kept shape

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& chosen = values.unpack();
    Tensor grad = empty_like(x);
    launch(name(), x.device(), &Kernels::reduce, &ReduceKernels::min_max_backward,
           reshaped(grads[0], chosen.shape()).view(), x.view(), chosen.view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    input.reset();
    values.reset();
  }
};

Tensor choose(const MinMaxKind& kind, const Tensor& input, const Shape& dims, bool keepdim) {
  require_arithmetic(input, "input");
  const Reduction reduction = plan_reduction(input.shape(), dims, keepdim);
  const Tensor result = apply_min_max(kind, input, reduction, "dims").result;
  if (!is_float(input.dtype())) return result;  // integers have no gradient
  if (auto* node = record<MinMaxBackward>(result, {&input}, kind.name())) {
    node->op = kind.op;
    node->input = SavedTensor(input);
    node->values = SavedTensor(reshaped(result.detach(), reduction.kept));
  }
  return result;
}

// `of_nothing` is the result for no elements.
Tensor ask(const MinMaxKind& kind, const Tensor& input, const Shape& dims, bool keepdim, bool of_nothing) {
  const Reduction reduction = plan_reduction(input.shape(), dims, keepdim);
  if (reduction.count == 0) return full(input.device(), DType::kBool, reduction.result, of_nothing ? 1 : 0);
  const Tensor bools = input.dtype() == DType::kBool ? input : converted(input, DType::kBool);
  return apply_min_max(kind, bools, reduction, "dims").result;
}

}  // namespace

Tensor amax(const Tensor& input, const Shape& dims, bool keepdim) {
  return choose({Op::kAmax, MinMax::kMax}, input, dims, keepdim);
}
Tensor amin(const Tensor& input, const Shape& dims, bool keepdim) {
  return choose({Op::kAmin, MinMax::kMin}, input, dims, keepdim);
}
Tensor any(const Tensor& input, const Shape& dims, bool keepdim) {
  return ask({Op::kAny, MinMax::kMax}, input, dims, keepdim, false);
}
Tensor all(const Tensor& input, const Shape& dims, bool keepdim) {
  return ask({Op::kAll, MinMax::kMin}, input, dims, keepdim, true);
}

}  // namespace halftone::ops
