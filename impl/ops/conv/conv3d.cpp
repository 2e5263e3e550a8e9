// Convolution over three dimensions: the depth becomes channels of images (depth.h), which are convolved in one pass. A
// transpose is the gradient of a convolution's input, so input and result swap roles.
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
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr const char* kNames[] = {"d", "h", "w"};

WindowSteps steps_along(const Conv3dOptions& options, int dim) {
  return {options.stride[dim], options.padding[dim], options.dilation[dim], kNames[dim]};
}

// [n, channels of the result, depth, height, width]
Shape result_shape(const ConvKind& kind, const ConvOperands& operands, const Conv3dOptions& options) {
  Shape shape = {operands.input.size(0), result_channels(kind, operands.weight, options.groups)};
  for (int d = 0; d < 3; ++d) {
    const WindowSteps steps = steps_along(options, d);
    const int64_t size = operands.input.size(2 + d), kernel = operands.weight.size(2 + d);
    shape.push_back(kind.transposes ? transposed_size(steps, size, kernel, options.output_padding[d])
                                    : window_positions(steps, size, {kernel, "weight"}));
  }
  return checked_shape(shape.begin(), shape.rank(), "options");
}

// A convolution of volumes x [n, c, d, h, w] to y [n, o, positions, oh, ow] with weights w: that of images, and the
// depth that it does not see.
struct Volume {
  ConvCall images;
  DepthWindow depth;

  Volume() = default;
  Volume(Op op, const Conv3dOptions& options, int64_t kernel, int64_t positions)
      : images{.operation = name_of(op),
               .window = {.stride = {options.stride[1], options.stride[2]},
                          .padding = {options.padding[1], options.padding[2]},
                          .dilation = {options.dilation[1], options.dilation[2]}},
               .groups = options.groups},
        depth{.steps = steps_along(options, 0), .kernel = kernel, .positions = positions, .groups = options.groups} {}

  Tensor convolved(const Tensor& x, const Tensor& w, const Tensor& bias, const Shape& y) const {
    const Tensor result = empty(x.device(), x.dtype(), {y[0] * y[2], y[1], y[3], y[4]});
    const Tensor slices = depth_to_channels(x, depth), weights = weight_of_images(w);
    run_conv(images, ConvPass::kForward, x.device(),
             {.input = slices.view(),
              .weight = weights.view(),
              .output = result.view(),
              .bias = bias.defined() ? bias.view() : View{}});
    return images_as_volumes(result, y);
  }

  // The gradient of x where that of y is given. The slices are FP32 (f64: double) until they are added up.
  Tensor transposed(const Tensor& y, const Tensor& w, const Tensor& bias, const Shape& x) const {
    const Tensor output = volumes_as_images(y), weights = weight_of_images(w);
    const Tensor slices = empty(y.device(), wide_dtype(y.dtype()), {output.size(0), x[1] * w.size(2), x[3], x[4]});
    run_conv(images, ConvPass::kGradInput, y.device(),
             {.input = slices.view(), .weight = weights.view(), .output = output.view()});
    const Tensor sums = channels_to_depth(slices, x, depth);
    if (bias.defined()) add_bias(sums, bias);
    return sums.dtype() == y.dtype() ? sums : converted(sums, y.dtype());
  }

  Tensor gradient_of_weight(const Tensor& x, const Tensor& w, const Tensor& y) const {
    const Tensor input = depth_to_channels(x, depth), output = volumes_as_images(y);
    const Tensor sums = empty(w.device(), w.dtype(), {w.size(0), w.size(2) * w.size(1), w.size(3), w.size(4)});
    run_conv(images, ConvPass::kGradWeight, x.device(),
             {.input = input.view(), .weight = sums.view(), .output = output.view()});
    return weight_of_volumes(sums, w.shape());
  }

 private:
  void add_bias(const Tensor& sums, const Tensor& bias) const {
    View channels = bias.view();
    const int64_t stride = channels.strides[0];
    channels.shape = sums.shape();
    channels.strides = {0, stride, 0, 0, 0};
    launch(images.operation, sums.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd,
           sums.view(), channels, sums.view());
  }
};

struct Conv3dBackward final : Node {
  SavedTensor input;
  SavedTensor weight;
  Volume volume;
  bool transposes = false;
  DType bias_dtype = DType::kF32;

  const char* name() const noexcept override { return volume.images.operation; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor &x = input.unpack(), &w = weight.unpack(), &grad = grads[0];
    if (inputs.needs(0)) {
      inputs.set(0, transposes ? volume.convolved(grad, w, {}, x.shape()) : volume.transposed(grad, w, {}, x.shape()));
    }
    if (inputs.needs(1)) {
      inputs.set(1, transposes ? volume.gradient_of_weight(grad, w, x) : volume.gradient_of_weight(x, w, grad));
    }
    if (inputs.needs(2)) set_bias_gradient(name(), inputs, 2, grad, bias_dtype);
  }
  void release_saved() noexcept override {
    input.reset();
    weight.reset();
  }
};

Tensor convolve(const ConvKind& kind, const ConvOperands& given, const Conv3dOptions& options) {
  if (given.input.rank() == kind.dims + 1) {
    return squeeze(convolve(kind, {unsqueeze(given.input, 0), given.weight, given.bias}, options), {0});
  }
  const auto [input, weight, bias] = autocast_operands(kind.op, given.input, given.weight, given.bias);
  const ConvOperands operands = {input, weight, bias};
  require_conv_images(kind, operands);
  require_conv3d_options(kind, options);
  require_conv_channels(kind, operands, options.groups);
  const Shape shape = result_shape(kind, operands, options);
  const Volume volume(kind.op, options, weight.size(2), kind.transposes ? input.size(2) : shape[2]);
  Tensor result =
      kind.transposes ? volume.transposed(input, weight, bias, shape) : volume.convolved(input, weight, bias, shape);
  if (auto* node = record<Conv3dBackward>(result, {&input, &weight, &bias}, volume.images.operation)) {
    node->input = SavedTensor(input);
    node->weight = SavedTensor(weight);
    node->volume = volume;
    node->transposes = kind.transposes;
    if (bias.defined()) node->bias_dtype = bias.dtype();
  }
  return result;
}

}  // namespace

void require_conv3d_options(const ConvKind& kind, const Conv3dOptions& options) {
  for (int d = 0; d < 3; ++d) {
    require_steps(steps_along(options, d));
    require_output_padding(steps_along(options, d), options.output_padding[d], kind.transposes);
  }
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Conv3dOptions& options) {
  return convolve(kConv3d, {input, weight, bias}, options);
}

Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Conv3dOptions& options) {
  return convolve(kConvTranspose3d, {input, weight, bias}, options);
}

}  // namespace halftone::ops
