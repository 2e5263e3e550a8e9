// Convolution over three dimensions: the depth becomes channels of images (depth.h), which are convolved in one pass.
#include "ops/conv/conv.h"
#include "ops/conv/conv_kernel.h"
#include "ops/conv/depth.h"
#include "ops/conv/operands.h"
#include "ops/conv/window.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

constexpr const char* kNames[] = {"d", "h", "w"};

WindowSteps steps_along(const Conv3dOptions& options, int dim) {
  return {options.stride[dim], options.padding[dim], options.dilation[dim], kNames[dim]};
}

// The convolution of images, and the depth that it does not see.
struct Volume {
  ConvCall images;
  DepthWindow depth;

  Volume() = default;
  Volume(const ConvOperands& operands, const Conv3dOptions& options)
      : images{.operation = name_of(Op::kConv3d),
               .window = {.stride = {options.stride[1], options.stride[2]},
                          .padding = {options.padding[1], options.padding[2]},
                          .dilation = {options.dilation[1], options.dilation[2]}},
               .groups = options.groups},
        depth{.steps = steps_along(options, 0),
              .kernel = operands.weight.size(2),
              .positions = window_positions(steps_along(options, 0), operands.input.size(2),
                                            {operands.weight.size(2), "weight"}),
              .groups = options.groups} {}

  Shape result_shape(const ConvOperands& operands) const {
    Shape shape = {operands.input.size(0), operands.weight.size(0), depth.positions};
    for (int d = 0; d < 2; ++d) {
      shape.push_back(
          window_positions(images.window, d, operands.input.size(3 + d), {operands.weight.size(3 + d), "weight"}));
    }
    return checked_shape(shape.begin(), shape.rank(), "options");
  }
};

struct Conv3dBackward final : Node {
  SavedTensor input;
  SavedTensor weight;
  Volume volume;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return volume.images.operation; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Tensor& w = weight.unpack();
    const Tensor grad = volumes_as_images(grads[0]);
    if (inputs.needs(0)) inputs.set(0, grad_of_input(x, w, grad));
    if (inputs.needs(1)) inputs.set(1, grad_of_weight(x, w, grad));
    if (inputs.needs(2)) set_bias_gradient(name(), inputs, 2, grads[0], bias_dtype);
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
  }

 private:
  // The slices are FP32 (f64: double) until they are added up.
  Tensor grad_of_input(const Tensor& x, const Tensor& w, const Tensor& grad) const {
    const Shape shape = {grad.size(0), x.size(1) * w.size(2), x.size(3), x.size(4)};
    const Tensor slices = empty(x.device(), wide_dtype(x.dtype()), shape);
    const Tensor weights = weight_of_images(w);
    run_conv(volume.images, ConvPass::kGradInput, x.device(),
             {.input = slices.view(), .weight = weights.view(), .output = grad.view()});
    const Tensor sums = channels_to_depth(slices, x.shape(), volume.depth);
    return sums.dtype() == x.dtype() ? sums : converted(sums, x.dtype());
  }

  Tensor grad_of_weight(const Tensor& x, const Tensor& w, const Tensor& grad) const {
    const Tensor images = depth_to_channels(x, volume.depth);
    const Tensor sums = empty(w.device(), w.dtype(), {w.size(0), w.size(2) * w.size(1), w.size(3), w.size(4)});
    run_conv(volume.images, ConvPass::kGradWeight, x.device(),
             {.input = images.view(), .weight = sums.view(), .output = grad.view()});
    return weight_of_volumes(sums, w.shape());
  }
};

}  // namespace

void require_conv3d_options(const Conv3dOptions& options) {
  for (int d = 0; d < 3; ++d) require_steps(steps_along(options, d));
}

Tensor conv3d(const Tensor& given_input, const Tensor& given_weight, const Tensor& given_bias,
              const Conv3dOptions& options) {
  if (given_input.rank() == kConv3d.dims + 1) {
    return squeeze(conv3d(unsqueeze(given_input, 0), given_weight, given_bias, options), {0});
  }
  const auto [input, weight, bias] = autocast_operands(Op::kConv3d, given_input, given_weight, given_bias);
  const ConvOperands operands = {input, weight, bias};
  require_conv_images(kConv3d, operands);
  require_conv3d_options(options);
  require_conv_channels(kConv3d, operands, options.groups);
  const Volume volume(operands, options);
  const Shape shape = volume.result_shape(operands);
  const Tensor images = empty(input.device(), input.dtype(), {shape[0] * shape[2], shape[1], shape[3], shape[4]});
  const Tensor slices = depth_to_channels(input, volume.depth);
  const Tensor weights = weight_of_images(weight);
  run_conv(volume.images, ConvPass::kForward, input.device(),
           {.input = slices.view(),
            .weight = weights.view(),
            .output = images.view(),
            .bias = bias.defined() ? bias.view() : View{}});
  Tensor result = images_as_volumes(images, shape);
  if (auto* node = record<Conv3dBackward>(result, {&input, &weight, &bias})) {
    node->input = SavedTensor(input);
    node->weight = SavedTensor(weight);
    node->volume = volume;
    if (bias.defined()) node->bias_dtype = bias.dtype();
  }
  return result;
}

}  // namespace halftone::ops
