// Convolutions over one, two and three dimensions, and their transposes.
// capi/include/halftone/conv.h and conv3d.h document them.
#pragma once

#include "backend/kernels/conv.h"
#include "ops/conv/conv_kind.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// {height, width}. 1-D ops use only the width; leave the height at its default.
struct ConvOptions {
  ConvWindow window;
  int64_t output_padding[2] = {0, 0};  // for transposes only
  int64_t groups = 1;
};

// {depth, height, width}.
struct Conv3dOptions {
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1};
  int64_t output_padding[3] = {0, 0, 0};  // for transposes only
  int64_t groups = 1;
};

// Throws INVALID_ARGUMENT naming `options`. Does not check groups: that needs the channels.
void require_conv_options(const ConvKind& kind, const ConvOptions& options);

// `bias` may be undefined.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);

// Throws INVALID_ARGUMENT naming `options`. Does not check groups.
void require_conv3d_options(const ConvKind& kind, const Conv3dOptions& options);
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Conv3dOptions& options);
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Conv3dOptions& options);

}  // namespace halftone::ops
