#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/loss/class_loss.h"
#include "ops/loss/loss.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct CrossEntropyBackward final : Node {
  SavedTensor logits;  // [n, c]
  SavedTensor targets, weight;
  SavedTensor normalizers;  // [n, 2]
  SavedTensor total;        // of a mean
  ClassLossOptions options;
  bool is_weighted, is_mean;

  const char* name() const noexcept override { return "cross_entropy"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = logits.unpack();
    const ClassLossInputs given = {targets.unpack(), is_weighted ? weight.unpack() : Tensor()};
    const Tensor rows = grad_of_rows(name(), grads[0], is_mean ? total.unpack() : Tensor(), x.size(0));
    Tensor grad = empty_like(x);
    launch(name(), x.device(), &Kernels::norm, &NormKernels::cross_entropy_backward, rows.view(), x.view(),
           given.view(options), normalizers.unpack().view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    for (SavedTensor* saved : {&logits, &targets, &weight, &normalizers, &total}) saved->reset();
  }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& weight,
                     const ClassLossOptions& options) {
  const ClassLossInputs given = class_loss_inputs(logits, "logits", targets, weight);
  const auto [x, dtype] = autocast_unary(Op::kCrossEntropy, logits);
  const ClassLossRows rows(x, true);
  launch("cross_entropy", x.device(), &Kernels::norm, &NormKernels::cross_entropy, x.view(), given.view(options),
         rows.view());
  const auto [result, total] = reduce_rows("cross_entropy", rows, options.reduction, dtype);
  if (auto* node = record<CrossEntropyBackward>(result, {&x})) {
    node->logits = SavedTensor(x);
    node->targets = SavedTensor(given.targets);
    node->normalizers = SavedTensor(rows.normalizers);
    node->options = options;
    node->is_weighted = given.weight.defined();
    node->is_mean = total.defined();
    if (node->is_weighted) node->weight = SavedTensor(given.weight);
    if (node->is_mean) node->total = SavedTensor(total);
  }
  return result;
}

}  // namespace halftone::ops
