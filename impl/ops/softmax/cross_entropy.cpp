#include <limits>

#include "ops/autocast.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

struct CrossEntropyBackward final : Node {
  SavedTensor logits;       // [n, c]
  SavedTensor targets;      // [n]
  SavedTensor log_sum_exp;  // [n]
  double scale;             // 1/n

  const char* name() const noexcept override { return "cross_entropy"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = logits.unpack();
    Tensor grad = empty_like(x);
    launch("cross_entropy", x.device(), &Kernels::norm, &NormKernels::cross_entropy_backward, grads[0].view(), scale,
           x.view(), targets.unpack().view(), log_sum_exp.unpack().view(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    logits.reset();
    targets.reset();
    log_sum_exp.reset();
  }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets) {
  require_classification(logits, targets);
  const auto [x, dtype] = autocast_unary(Op::kCrossEntropy, logits);
  const int64_t rows = x.size(0);
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Tensor log_sum_exp = empty(x.device(), wide, {rows});
  Tensor losses = empty(x.device(), wide, {rows});
  launch("cross_entropy", x.device(), &Kernels::norm, &NormKernels::cross_entropy, x.view(), targets.view(),
         log_sum_exp.view(), losses.view());
  const double scale = rows > 0 ? 1.0 / static_cast<double>(rows) : std::numeric_limits<double>::infinity();
  Tensor result = apply_sum("cross_entropy", losses, plan_reduction(losses.shape(), {}, false), scale, dtype);
  if (auto* node = record<CrossEntropyBackward>(result, {&x})) {
    node->logits = SavedTensor(x);
    node->targets = SavedTensor(targets);
    node->log_sum_exp = SavedTensor(log_sum_exp);
    node->scale = scale;
  }
  return result;
}

}  // namespace halftone::ops
