#include <limits>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct MeanBackward final : Node {
  Shape kept, shape;
  DType dtype;
  double scale;

  const char* name() const noexcept override { return "mean"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    Tensor share = empty(grads[0].device(), dtype, grads[0].shape());
    launch("mean", share.device(), &Kernels::elementwise, &ElementwiseKernels::affine, scale, 0.0, grads[0].view(),
           share.view());
    inputs.set(0, spread(share, kept, shape));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor mean(const Tensor& input, const Shape& dims, bool keepdim) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kMean, input);
  const Reduction reduction = plan_reduction(x.shape(), dims, keepdim);
  // The empty sum is 0, and 0 * inf gives NaN, the mean of no elements.
  const double scale =
      reduction.count > 0 ? 1.0 / static_cast<double>(reduction.count) : std::numeric_limits<double>::infinity();
  Tensor result = apply_sum("mean", x, reduction, scale, dtype);
  if (auto* node = record<MeanBackward>(result, {&x})) {
    node->kept = reduction.kept;
    node->shape = x.shape();
    node->dtype = x.dtype();
    node->scale = scale;
  }
  return result;
}

}  // namespace halftone::ops
