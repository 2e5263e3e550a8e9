#include "ops/conv/conv.h"

#include "ops/conv/conv_kernel.h"
#include "ops/conv/operands.h"
#include "ops/conv/window.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/dispatch/store_gradient.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

void require_call(const ConvKind& kind, const ConvOperands& operands, const ConvOptions& options) {
  require_conv_images(kind, operands);
  require_conv_options(kind, options);
  require_conv_channels(kind, operands, options.groups);
}

Shape result_shape(const ConvKind& kind, const ConvOperands& operands, const ConvOptions& options) {
  Shape shape = {operands.input.size(0), result_channels(kind, operands.weight, options.groups)};
  for (int i = 0; i < kind.dims; ++i) {
    const int dim = 2 - kind.dims + i;
    const int64_t size = operands.input.size(2 + i);
    const int64_t kernel = operands.weight.size(2 + i);
    const WindowSteps steps = steps_along(options.window, dim);
    shape.push_back(kind.transposes ? transposed_size(steps, size, kernel, options.output_padding[dim])
                                    : window_positions(steps, size, {kernel, "weight"}));
  }
  return checked_shape(shape.begin(), shape.rank(), "options");
}

// Backward of Y = X * W + b. A transpose is the gradient of a convolution's input, so X and Y swap roles.
struct ConvBackward final : Node {
  SavedTensor input;
  SavedTensor weight;
  ConvCall call;
  bool transposes = false;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return call.operation; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor w = contiguous(weight.unpack());
    const Tensor& grad = grads[0];
    if (inputs.needs(1)) set_weight_grad(inputs, x, grad, w);
    if (inputs.needs(2)) set_bias_gradient(name(), inputs, 2, grad, bias_dtype);
    if (inputs.needs(0)) {
      Tensor grad_input = empty(x.device(), x.dtype(), x.shape());
      const ConvPass pass = transposes ? ConvPass::kForward : ConvPass::kGradInput;
      run_conv(call, pass, x.device(), args_of(grad_input, grad, w.view()));
      inputs.set(0, grad_input);
    }
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
  }

 private:
  ConvArgs args_of(const Tensor& x, const Tensor& y, const View& w) const {
    return {.input = (transposes ? y : x).view(), .weight = w, .output = (transposes ? x : y).view()};
  }

  void set_weight_grad(InputGrads& inputs, const Tensor& x, const Tensor& grad, const Tensor& w) const {
    const auto convolve = [&](const Tensor& target, Store store) {
      ConvArgs args = args_of(x, grad, target.view());
      args.store = store;
      run_conv(call, ConvPass::kGradWeight, w.device(), args);
    };
    store_gradient(inputs, 1, w.shape(), w.dtype(), w.device(), {x.view(), grad.view()}, convolve);
  }
};

// One image without a batch is a batch of 1.
Tensor convolve(const ConvKind& kind, const ConvOperands& given, const ConvOptions& options) {
  if (given.input.rank() == kind.dims + 1) {
    return squeeze(convolve(kind, {unsqueeze(given.input, 0), given.weight, given.bias}, options), {0});
  }
  const auto [input, weight, bias] = autocast_operands(kind.op, given.input, given.weight, given.bias);
  const ConvOperands operands = {input, weight, bias};
  require_call(kind, operands, options);
  const ConvCall call = {name_of(kind.op), options.window, options.groups};
  Tensor result = empty(input.device(), input.dtype(), result_shape(kind, operands, options));
  const Tensor weights = contiguous(weight);
  const ConvPass pass = kind.transposes ? ConvPass::kGradInput : ConvPass::kForward;
  run_conv(call, pass, input.device(),
           {.input = (kind.transposes ? result : input).view(),
            .weight = weights.view(),
            .output = (kind.transposes ? input : result).view(),
            .bias = bias.defined() ? bias.view() : View{}});
  if (auto* node = record<ConvBackward>(result, {&input, &weight, &bias}, call.operation)) {
    node->input = SavedTensor(input);
    node->weight = SavedTensor(weight);
    node->call = call;
    node->transposes = kind.transposes;
    if (bias.defined()) node->bias_dtype = bias.dtype();
  }
  return result;
}

}  // namespace

void require_conv_options(const ConvKind& kind, const ConvOptions& options) {
  require_window(options.window, kind.dims);
  for (int d = 0; d < 2; ++d) {
    require_output_padding(steps_along(options.window, d), options.output_padding[d],
                           kind.transposes && d >= 2 - kind.dims);
  }
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve(kConv1d, {input, weight, bias}, options);
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve(kConv2d, {input, weight, bias}, options);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve(kConvTranspose1d, {input, weight, bias}, options);
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve(kConvTranspose2d, {input, weight, bias}, options);
}

}  // namespace halftone::ops
