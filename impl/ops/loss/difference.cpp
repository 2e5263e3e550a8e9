// mse_loss, l1_loss, smooth_l1_loss, huber_loss, kl_div and bce_loss: one implementation, on one pair of kernels.
#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/loss/elements.h"
#include "ops/loss/loss.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct LossKind {
  Op op;
  LossOp formula;
  double beta = 0;  // of smooth_l1_loss; delta of huber_loss
};

struct LossBackward final : Node {
  LossKind kind;
  SavedTensor input, target;
  double scale;

  const char* name() const noexcept override { return name_of(kind.op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    if (inputs.needs(0)) inputs.set(0, slope(grads[0], LossOperand::kInput, input.unpack()));
    if (inputs.needs(1)) inputs.set(1, slope(grads[0], LossOperand::kTarget, target.unpack()));
  }
  void release_saved() noexcept override {
    input.reset();
    target.reset();
  }

 private:
  Tensor slope(const Tensor& grad, LossOperand operand, const Tensor& like) const {
    const Tensor slopes = empty_slopes(grad, like);
    launch(name(), like.device(), &Kernels::loss, &LossKernels::loss_backward, kind.formula, kind.beta, operand,
           expand(grad, like.shape()), scale, input.unpack().view(), target.unpack().view(), slopes.view());
    return reduce_to(slopes, like.shape(), like.dtype());
  }
};

Tensor apply(const LossKind& kind, const Tensor& input, const Tensor& target, LossReduction reduction) {
  const auto [x, t, dtype] = loss_operands(kind.op, input, "input", target, "target");
  const Tensor losses = empty_losses(x, reduction, dtype);
  launch(name_of(kind.op), x.device(), &Kernels::loss, &LossKernels::loss, kind.formula, kind.beta, x.view(), t.view(),
         losses.view());
  const Tensor result = reduced_losses(kind.op, losses, reduction);
  if (auto* node = record<LossBackward>(result, {&x, &t}, name_of(kind.op))) {
    node->kind = kind;
    node->input = SavedTensor(x);
    node->target = SavedTensor(t);
    node->scale = loss_scale(reduction, x.shape());
  }
  return result;
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return apply({Op::kMseLoss, LossOp::kSquared}, input, target, reduction);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, LossReduction reduction) {
  return apply({Op::kL1Loss, LossOp::kAbsolute}, input, target, reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta, LossReduction reduction) {
  return apply({Op::kSmoothL1Loss, LossOp::kSmoothAbsolute, beta}, input, target, reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, double delta, LossReduction reduction) {
  return apply({Op::kHuberLoss, LossOp::kHuber, delta}, input, target, reduction);
}

// With a weight the losses stay in f32 (f64) until they are weighted.
Tensor bce_loss(const Tensor& input, const Tensor& target, const Tensor& weight, LossReduction reduction) {
  const LossKind kind = {Op::kBceLoss, LossOp::kBinaryCrossEntropy};
  if (!weight.defined()) return apply(kind, input, target, reduction);
  const DType dtype = loss_operands(kind.op, input, "input", target, "target").dtype;
  require_loss_weight(weight, "weight", input, "input");
  const AutocastUnary x = wide_operand(kind.op, input, "input"), t = wide_operand(kind.op, target, "target");
  const Tensor factor = wide_operand(kind.op, weight, "weight").input;
  const WithoutAutocast parts;
  const Tensor losses = apply(kind, x.input, t.input, LossReduction::kNone);
  return reduced_result(cast(mul(losses, factor), wide_dtype(dtype)), reduction, dtype);
}

Tensor kl_div(const Tensor& input, const Tensor& target, bool log_target, LossReduction reduction) {
  if (reduction == LossReduction::kBatchMean && input.rank() == 0) {
    fail(Code::kShapeMismatch, "input", "input [] has no batch dimension to average over");
  }
  const LossOp formula = log_target ? LossOp::kKlDivergenceOfLogs : LossOp::kKlDivergence;
  return apply({Op::kKlDiv, formula}, input, target, reduction);
}

}  // namespace halftone::ops
