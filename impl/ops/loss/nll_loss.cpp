#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/loss/class_loss.h"
#include "ops/loss/loss.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct NllLossBackward final : Node {
  SavedTensor targets, weight;
  SavedTensor total;  // of a mean
  ClassLossOptions options;
  Shape shape;
  DType dtype;
  bool is_weighted, is_mean;

  const char* name() const noexcept override { return "nll_loss"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const ClassLossInputs given = {targets.unpack(), is_weighted ? weight.unpack() : Tensor()};
    const Tensor rows = grad_of_rows(name(), grads[0], is_mean ? total.unpack() : Tensor(), shape[0]);
    Tensor grad = empty(given.targets.device(), dtype, shape);
    launch(name(), grad.device(), &Kernels::norm, &NormKernels::nll_backward, rows.view(), given.view(options),
           grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    for (SavedTensor* saved : {&targets, &weight, &total}) saved->reset();
  }
};

}  // namespace

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets, const Tensor& weight,
                const ClassLossOptions& options) {
  const auto [logs, given, shape] = class_rows(log_probabilities, targets, weight, {"log_probabilities", "weight"});
  const auto [x, dtype] = autocast_unary(Op::kNllLoss, logs);
  const ClassLossRows rows(x, false);
  launch("nll_loss", x.device(), &Kernels::norm, &NormKernels::nll, x.view(), given.view(options), rows.view());
  const auto [result, total] = reduce_rows("nll_loss", rows, options.reduction, dtype);
  if (auto* node = record<NllLossBackward>(result, {&x})) {
    node->targets = SavedTensor(given.targets);
    node->options = options;
    node->shape = x.shape();
    node->dtype = x.dtype();
    node->is_weighted = given.weight.defined();
    node->is_mean = total.defined();
    if (node->is_weighted) node->weight = SavedTensor(given.weight);
    if (node->is_mean) node->total = SavedTensor(total);
  }
  return in_shape(result, options.reduction, shape);
}

}  // namespace halftone::ops
