#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "ops/loss/class_loss.h"
#include "ops/loss/loss.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "ops/softmax/softmax.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr ClassLossNames kNames = {"logits", "options.weight"};

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

Tensor of_indices(const Tensor& logits, const Tensor& targets, const Tensor& weight, const ClassLossOptions& options) {
  const auto [class_logits, given, shape] = class_rows(logits, targets, weight, kNames);
  const auto [x, dtype] = autocast_unary(Op::kCrossEntropy, class_logits);
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
  return in_shape(result, options.reduction, shape);
}

void require_probabilities(const Tensor& logits, const Tensor& targets, const ClassLossOptions& options) {
  require_float(logits, "logits");
  require_float(targets, "targets");
  require_same_device(logits, "logits", targets, "targets");
  if (logits.rank() == 0 || targets.shape() != logits.shape()) {
    fail(Code::kShapeMismatch, "targets", "targets %s, probabilities of classes, differs from logits %s",
         ShapeText(targets.shape()).text, ShapeText(logits.shape()).text);
  }
  if (options.ignore_index >= 0) {
    fail(Code::kInvalidArgument, "options",
         "options.ignore_index=%lld, expected a negative number: targets that are probabilities have no index",
         static_cast<long long>(options.ignore_index));
  }
}

// The targets after smoothing, times the weights of the classes.
Tensor weighted_shares(const Tensor& targets, const Tensor& logits, const Tensor& weight, double smoothing) {
  const int dim = class_dim(logits);
  const int64_t classes = logits.size(dim);
  Tensor shares = targets;
  if (smoothing > 0) shares = rescale(shares, 1 - smoothing, smoothing / static_cast<double>(classes));
  if (!weight.defined()) return shares;
  Shape along(logits.shape());
  for (int i = 0; i < along.rank(); ++i) along[i] = i == dim ? classes : 1;
  return mul(shares, reshape(cast(weight, shares.dtype()), along));
}

// The sum over the classes of -target * log(probability), composed of operations in the compute dtype, so that the
// targets and the weights have gradients, too. A class whose logit is -inf gives NaN, also where its target is 0, as in
// PyTorch.
Tensor of_probabilities(const Tensor& logits, const Tensor& targets, const Tensor& weight,
                        const ClassLossOptions& options) {
  require_probabilities(logits, targets, options);
  require_class_weight(logits, class_dim(logits), weight, kNames);
  const auto [x, dtype] = autocast_unary(Op::kCrossEntropy, logits);
  const ScopeGuard restore;
  scope().autocast = nullptr;  // it has chosen the dtypes
  const DType wide = wide_dtype(x.dtype());
  const int dim = class_dim(x);
  const Tensor shares = weighted_shares(cast(targets, wide), x, weight, options.label_smoothing);
  const Tensor terms = mul(log_softmax(cast(x, wide), dim), shares);
  if (options.reduction == LossReduction::kNone) return cast(rescale(sum_in(wide, terms, {dim}, false), -1, 0), dtype);
  const double rows = static_cast<double>(x.numel()) / static_cast<double>(std::max<int64_t>(1, x.size(dim)));
  const double divisor = options.reduction == LossReduction::kMean ? rows : 1;
  return rescale(sum_in(wide, terms, {}, false), -1 / divisor, 0);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& weight,
                     const ClassLossOptions& options) {
  return (is_float(targets.dtype()) ? of_probabilities : of_indices)(logits, targets, weight, options);
}

}  // namespace halftone::ops
