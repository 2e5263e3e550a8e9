// The operands of all convolutions, and their checks. Messages name the arguments of the C API.
#pragma once

#include "autograd/graph/node.h"
#include "ops/conv/conv_kind.h"
#include "tensor/tensor.h"

namespace halftone::ops {

struct ConvOperands {
  const Tensor& input;   // [n, c, ...]
  const Tensor& weight;  // [o, c / groups, ...], for a transpose [c, o / groups, ...]
  const Tensor& bias;    // [channels of the result]; may be undefined
};

int64_t result_channels(const ConvKind& kind, const Tensor& weight, int64_t groups);

// Checks dtypes, devices and the sizes of images and kernels.
void require_conv_images(const ConvKind& kind, const ConvOperands& operands);
// Checks groups, channels and the bias.
void require_conv_channels(const ConvKind& kind, const ConvOperands& operands, int64_t groups);

// The gradient of the bias: the sum of the result's gradient over all dimensions but the channels.
void set_bias_gradient(const char* operation, InputGrads& inputs, int input, const Tensor& grad, DType dtype);

}  // namespace halftone::ops
