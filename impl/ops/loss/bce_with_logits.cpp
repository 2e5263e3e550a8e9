#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/loss/elements.h"
#include "ops/loss/loss.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct BceWithLogitsBackward final : Node {
  SavedTensor logits, targets, positive_weight;
  double scale;

  const char* name() const noexcept override { return "bce_with_logits"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, slope(grads[0], LossOperand::kInput, logits.unpack()));
    if (inputs.needs(1)) inputs.set(1, slope(grads[0], LossOperand::kTarget, targets.unpack()));
  }
  void release_saved() noexcept override {
    logits.reset();
    targets.reset();
    positive_weight.reset();
  }

 private:
  Tensor slope(const Tensor& grad, LossOperand operand, const Tensor& like) const {
    const Tensor slopes = empty_slopes(grad, like);
    launch(name(), like.device(), &Kernels::loss, &LossKernels::logistic_backward, operand, expand(grad, like.shape()),
           scale, logits.unpack().view(), targets.unpack().view(), expand(positive_weight.unpack(), like.shape()),
           slopes.view());
    return reduce_to(slopes, like.shape(), like.dtype());
  }
};

// Returns a weight of 1 if none is given.
Tensor checked_weight(const Tensor& weight, const Tensor& logits) {
  if (!weight.defined()) return full(logits.device(), DType::kF32, {}, 1);
  require_loss_weight(weight, "pos_weight", logits, "logits");
  require_constant(weight, "pos_weight");
  return weight.detach();
}

}  // namespace

Tensor bce_with_logits(const Tensor& logits, const Tensor& targets, const Tensor& pos_weight, LossReduction reduction) {
  const auto [x, t, dtype] = loss_operands(Op::kBceWithLogits, logits, "logits", targets, "targets");
  const Tensor weight = checked_weight(pos_weight, x);
  const Tensor losses = empty_losses(x, reduction, dtype);
  launch("bce_with_logits", x.device(), &Kernels::loss, &LossKernels::logistic, x.view(), t.view(),
         expand(weight, x.shape()), losses.view());
  const Tensor result = reduced_losses(Op::kBceWithLogits, losses, reduction);
  if (auto* node = record<BceWithLogitsBackward>(result, {&x, &t})) {
    node->logits = SavedTensor(x);
    node->targets = SavedTensor(t);
    node->positive_weight = SavedTensor(weight);
    node->scale = loss_scale(reduction, x.shape());
  }
  return result;
}

}  // namespace halftone::ops
