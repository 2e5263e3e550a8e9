// amax and amin; any and all, which are the maximum and minimum of bools.
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/record.h"
#include "ops/reduce/extreme.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct ExtremeBackward final : Node {
  Op op;
  SavedTensor input;
  SavedTensor values;  // of the kept shape

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& chosen = values.unpack();
    Tensor grad = empty_like(x);
    launch(name(), x.device(), &Kernels::reduce, &ReduceKernels::extreme_backward,
           reshaped(grads[0], chosen.shape()).view(), x.view(), chosen.view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    input.reset();
    values.reset();
  }
};

Tensor choose(const ExtremeKind& kind, const Tensor& input, const Shape& dims, bool keepdim) {
  require_arithmetic(input, "input");
  const Reduction reduction = plan_reduction(input.shape(), dims, keepdim);
  const Tensor result = apply_extreme(kind, input, reduction, "dims").result;
  if (!is_float(input.dtype())) return result;
  if (auto* node = record<ExtremeBackward>(result, {&input})) {
    node->op = kind.op;
    node->input = SavedTensor(input);
    node->values = SavedTensor(reshaped(result.detach(), reduction.kept));
  }
  return result;
}

// `of_nothing` is the result for no elements.
Tensor ask(const ExtremeKind& kind, const Tensor& input, const Shape& dims, bool keepdim, bool of_nothing) {
  const Reduction reduction = plan_reduction(input.shape(), dims, keepdim);
  if (reduction.count == 0) return full(input.device(), DType::kBool, reduction.result, of_nothing ? 1 : 0);
  const Tensor bools = input.dtype() == DType::kBool ? input : converted(input, DType::kBool);
  return apply_extreme(kind, bools, reduction, "dims").result;
}

}  // namespace

Tensor amax(const Tensor& input, const Shape& dims, bool keepdim) {
  return choose({Op::kAmax, Extreme::kLargest}, input, dims, keepdim);
}
Tensor amin(const Tensor& input, const Shape& dims, bool keepdim) {
  return choose({Op::kAmin, Extreme::kSmallest}, input, dims, keepdim);
}
Tensor any(const Tensor& input, const Shape& dims, bool keepdim) {
  return ask({Op::kAny, Extreme::kLargest}, input, dims, keepdim, false);
}
Tensor all(const Tensor& input, const Shape& dims, bool keepdim) {
  return ask({Op::kAll, Extreme::kSmallest}, input, dims, keepdim, true);
}

}  // namespace halftone::ops
