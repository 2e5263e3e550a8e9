// Convolutions over one and two dimensions and their transposes; capi/include/halftone/conv.h documents them.
#pragma once

#include "backend/kernels/conv.h"
#include "ops/dispatch/op.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// {height, width}. 1-D ops use only the width; leave the height at its default.
struct ConvOptions {
  ConvWindow window;
  int64_t output_padding[2] = {0, 0};  // for transposes only
  int64_t groups = 1;
};

// The differences between the four operations.
struct ConvKind {
  Op op;
  int dims;
  bool transposes;
};
inline constexpr ConvKind kConv1d = {Op::kConv1d, 1, false};
inline constexpr ConvKind kConv2d = {Op::kConv2d, 2, false};
inline constexpr ConvKind kConvTranspose1d = {Op::kConvTranspose1d, 1, true};
inline constexpr ConvKind kConvTranspose2d = {Op::kConvTranspose2d, 2, true};

// Throws INVALID_ARGUMENT naming `options`. Does not check groups: that needs the channels.
void require_conv_options(const ConvKind& kind, const ConvOptions& options);

// `bias` may be undefined.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);

}  // namespace halftone::ops
