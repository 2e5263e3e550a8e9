// softmax and log_softmax: one implementation, two pairs of kernels.
#include "ops/softmax/softmax.h"

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct SoftmaxKind {
  const char* name;
  Op op;
  decltype(NormKernels::softmax) NormKernels::*forward;
  decltype(NormKernels::softmax_backward) NormKernels::*backward;
};

constexpr SoftmaxKind kSoftmax = {"softmax", Op::kSoftmax, &NormKernels::softmax, &NormKernels::softmax_backward};
constexpr SoftmaxKind kLogSoftmax = {"log_softmax", Op::kLogSoftmax, &NormKernels::log_softmax,
                                     &NormKernels::log_softmax_backward};

struct SoftmaxBackward final : Node {
  const SoftmaxKind* kind;
  SavedTensor result;
  int dim;
  DType dtype;

  const char* name() const noexcept override { return kind->name; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& forward = result.unpack();
    Tensor grad = empty(forward.device(), dtype, forward.shape());
    launch(kind->name, forward.device(), &Kernels::norm, kind->backward, grads[0].view(), forward.view(), dim,
           grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { result.reset(); }
};

Tensor apply(const SoftmaxKind& kind, const Tensor& input, int64_t dim) {
  require_float(input, "input");
  const int along = checked_dim(dim, input.rank(), "dim");
  const auto [x, dtype] = autocast_unary(kind.op, input);
  Tensor result = empty(x.device(), dtype, x.shape());
  launch(kind.name, x.device(), &Kernels::norm, kind.forward, x.view(), along, result.view());
  if (auto* node = record<SoftmaxBackward>(result, {&x}, kind.name)) {
    node->kind = &kind;
    node->result = SavedTensor(result.detach());
    node->dim = along;
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace

Tensor softmax(const Tensor& input, int64_t dim) { return apply(kSoftmax, input, dim); }
Tensor log_softmax(const Tensor& input, int64_t dim) { return apply(kLogSoftmax, input, dim); }

}  // namespace halftone::ops
