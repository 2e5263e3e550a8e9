#include <cmath>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/moments.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct VectorNormBackward final : Node {
  SavedTensor input;
  SavedTensor norms;  // of the kept shape
  double p;

  const char* name() const noexcept override { return "vector_norm"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& results = norms.unpack();
    Tensor grad = empty_like(x);
    launch("vector_norm", x.device(), &Kernels::reduce, &ReduceKernels::vector_norm_backward, p,
           reshaped(grads[0], results.shape()).view(), x.view(), results.view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    input.reset();
    norms.reset();
  }
};

// The largest magnitude, or the smallest for -infinity. Both steps are exact, and their gradients are those of the
// norm.
Tensor extreme_norm(const Tensor& input, double p, const Shape& dims, bool keepdim, DType dtype) {
  const Tensor magnitudes = abs(input);
  return cast(p > 0 ? amax(magnitudes, dims, keepdim) : amin(magnitudes, dims, keepdim), dtype);
}

}  // namespace

Tensor vector_norm(const Tensor& input, double p, const Shape& dims, bool keepdim) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kVectorNorm, input);
  if (std::isinf(p)) return extreme_norm(x, p, dims, keepdim, dtype);
  const Reduction reduction = plan_reduction(x.shape(), dims, keepdim);
  if (p < 0 && reduction.count == 0) {
    fail(Code::kInvalidArgument, "dims",
         "dims of input %s: these dimensions have no element, and a norm of p=%g needs one", ShapeText(x.shape()).text,
         p);
  }
  const auto [result, kept] = empty_reduced(x, reduction, dtype);
  launch("vector_norm", x.device(), &Kernels::reduce, &ReduceKernels::vector_norm, p, x.view(), kept);
  if (auto* node = record<VectorNormBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->norms = SavedTensor(reshaped(result.detach(), reduction.kept));
    node->p = p;
  }
  return result;
}

}  // namespace halftone::ops
