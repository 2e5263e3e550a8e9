#include "ops/elementwise/wide_operand.h"

#include <limits>

#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

namespace {

struct AtLeastBackward final : Node {
  const char* name() const noexcept override { return "at_least"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override { inputs.set(0, grads[0]); }
  void release_saved() noexcept override {}
};

}  // namespace

AutocastUnary wide_operand(Op op, const Tensor& input, const char* argument) {
  require_float(input, argument);
  const auto [x, dtype] = autocast_unary(op, input);
  return {ops::cast(x, wide_dtype(dtype)), dtype};
}

namespace ops {

Tensor at_least(const Tensor& input, double low) {
  Tensor result = empty_like(input);
  launch("at_least", input.device(), &Kernels::elementwise, &ElementwiseKernels::clamp,
         Bounds{low, std::numeric_limits<double>::infinity()}, input.view(), result.view());
  record<AtLeastBackward>(result, {&input});
  return result;
}

}  // namespace ops
}  // namespace halftone
