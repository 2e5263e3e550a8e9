// var, std and var_mean: variance and standard deviation.
#include <algorithm>

#include "backend/kernels/kernels.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/moments.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// d var = 2 / divisor * (x - mean), and d std = d var / (2 std), with gradient 0 if std is 0, as in PyTorch.
struct VarianceBackward final : Node {
  Op op;
  SavedTensor input;
  SavedTensor means;   // of the kept shape
  SavedTensor result;  // for std only, of the kept shape
  double divisor;

  const char* name() const noexcept override { return name_of(op); }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& centres = means.unpack();
    const bool is_root = op == Op::kStd;
    Tensor grad = empty_like(x);
    launch(name(), x.device(), &Kernels::reduce, &ReduceKernels::variance_backward, (is_root ? 1.0 : 2.0) / divisor,
           reshaped(grads[0], centres.shape()).view(), x.view(), centres.view(),
           is_root ? result.unpack().view() : View(), grad.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {
    input.reset();
    means.reset();
    result.reset();
  }
};

struct Deviation {
  Tensor input;  // as the kernel took it
  Reduction reduction;
  Tensor result;
  Tensor means;  // f64, of the kept shape
};

Deviation deviate(Op op, const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  require_float(input, "input");
  const auto [x, dtype] = autocast_unary(op, input);
  const Reduction reduction = plan_reduction(x.shape(), dims, keepdim);
  const Variance variance = {.divisor = std::max(0.0, static_cast<double>(reduction.count) - correction),
                             .takes_root = op == Op::kStd};
  const auto [result, kept] = empty_reduced(x, reduction, dtype);
  const Tensor means = empty(x.device(), DType::kF64, reduction.kept, Category::kActivations);
  launch(name_of(op), x.device(), &Kernels::reduce, &ReduceKernels::variance, variance, x.view(), means.view(), kept);
  if (auto* node = record<VarianceBackward>(result, {&x}, name_of(op))) {
    node->op = op;
    node->input = SavedTensor(x);
    node->means = SavedTensor(means);
    if (op == Op::kStd) node->result = SavedTensor(reshaped(result.detach(), reduction.kept));
    node->divisor = variance.divisor;
  }
  return {x, reduction, result, means};
}

}  // namespace

Tensor var(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  return deviate(Op::kVar, input, dims, correction, keepdim).result;
}

Tensor std(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  return deviate(Op::kStd, input, dims, correction, keepdim).result;
}

// The variance needs the means anyway.
VarianceAndMean var_mean(const Tensor& input, const Shape& dims, double correction, bool keepdim) {
  const Deviation deviation = deviate(Op::kVarMean, input, dims, correction, keepdim);
  const Tensor mean = converted(reshaped(deviation.means, deviation.result.shape()), deviation.result.dtype());
  record_mean(mean, deviation.input, deviation.reduction);
  return {deviation.result, mean};
}

}  // namespace halftone::ops
