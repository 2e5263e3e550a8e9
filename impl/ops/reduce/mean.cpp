#include <limits>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

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

// The empty sum is 0, and 0 * inf gives NaN, the mean of no elements.
double share_of_one(const Reduction& reduction) {
  return reduction.count > 0 ? 1.0 / static_cast<double>(reduction.count) : std::numeric_limits<double>::infinity();
}

}  // namespace

void record_mean(const Tensor& result, const Tensor& input, const Reduction& reduction) {
  auto* node = record<MeanBackward>(result, {&input});
  if (node == nullptr) return;
  node->kept = reduction.kept;
  node->shape = input.shape();
  node->dtype = input.dtype();
  node->scale = share_of_one(reduction);
}

namespace ops {

Tensor mean(const Tensor& input, const Shape& dims, bool keepdim) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kMean, input);
  const Reduction reduction = plan_reduction(x.shape(), dims, keepdim);
  Tensor result = apply_sum("mean", x, reduction, share_of_one(reduction), dtype);
  record_mean(result, x, reduction);
  return result;
}

}  // namespace ops

}  // namespace halftone
