#include "ops/conv/operands.h"

#include "core/error.h"
#include "ops/conv/window.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/store_gradient.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

void require_groups(const ConvKind& kind, const ConvOperands& operands, int64_t groups) {
  const Tensor& weight = operands.weight;
  if (groups < 1 || weight.size(0) % groups != 0) {
    fail(Code::kInvalidArgument, "options", "options.groups=%lld does not divide weight.shape[0]=%lld",
         static_cast<long long>(groups), static_cast<long long>(weight.size(0)));
  }
  const int64_t channels = kind.transposes ? weight.size(0) : weight.size(1) * groups;
  if (operands.input.size(1) != channels) {
    fail(Code::kShapeMismatch, "input",
         "input.shape[1]=%lld differs from the %lld channels of weight %s in %lld groups",
         static_cast<long long>(operands.input.size(1)), static_cast<long long>(channels),
         ShapeText(weight.shape()).text, static_cast<long long>(groups));
  }
}

void require_bias(const ConvKind& kind, const ConvOperands& operands, int64_t groups) {
  const Tensor& bias = operands.bias;
  if (!bias.defined()) return;
  require_same_dtype(operands.input, "input", bias, "bias");
  require_same_device(operands.input, "input", bias, "bias");
  const int64_t channels = result_channels(kind, operands.weight, groups);
  if (bias.rank() != 1 || bias.size(0) != channels) {
    fail(Code::kShapeMismatch, "bias", "bias %s differs from [%lld], the channels of the result",
         ShapeText(bias.shape()).text, static_cast<long long>(channels));
  }
}

}  // namespace

int64_t result_channels(const ConvKind& kind, const Tensor& weight, int64_t groups) {
  return kind.transposes ? weight.size(1) * groups : weight.size(0);
}

void require_conv_images(const ConvKind& kind, const ConvOperands& operands) {
  require_float(operands.input, "input");
  require_same_dtype(operands.input, "input", operands.weight, "weight");
  require_same_device(operands.input, "input", operands.weight, "weight");
  require_images(operands.input, "input", kind.dims);
  require_images(operands.weight, "weight", kind.dims, 0);
}

void require_conv_channels(const ConvKind& kind, const ConvOperands& operands, int64_t groups) {
  require_groups(kind, operands, groups);
  require_bias(kind, operands, groups);
}

void set_bias_gradient(const char* operation, InputGrads& inputs, int input, const Tensor& grad, DType dtype) {
  const int64_t channels = grad.size(1);
  const auto add_positions = [&](const Tensor& target, Store store) {
    // The sum's result has size 1 in each dimension but that of the channels.
    View out = target.view();
    out.shape = out.strides = Shape();
    for (int i = 0; i < grad.rank(); ++i) {
      out.shape.push_back(i == 1 ? channels : 1);
      out.strides.push_back(i == 1 ? target.strides()[0] : 0);
    }
    launch(operation, grad.device(), &Kernels::reduce, &ReduceKernels::sum, grad.view(), 1.0, store, out);
  };
  store_gradient(inputs, input, {channels}, dtype, grad.device(), {grad.view()}, add_positions);
}

}  // namespace halftone::ops
