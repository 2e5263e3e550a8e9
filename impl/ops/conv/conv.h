// Convolutions over one and two dimensions and their transposes; capi/include/halftone/conv.h documents them.
#pragma once

#include "backend/kernels/conv.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// Height, then width; over one dimension the width alone counts, and heights keep what stands here.
struct ConvOptions {
  ConvWindow window;
  int64_t output_padding[2] = {0, 0};  // of transposes alone
  int64_t groups = 1;
};

// What the operations differ in.
struct ConvKind {
  Op op;
  int dims;
  bool transposes;
};
inline constexpr ConvKind kConv1d = {Op::kConv1d, 1, false};
inline constexpr ConvKind kConv2d = {Op::kConv2d, 2, false};
inline constexpr ConvKind kConvTranspose1d = {Op::kConvTranspose1d, 1, true};
inline constexpr ConvKind kConvTranspose2d = {Op::kConvTranspose2d, 2, true};

// Throws INVALID_ARGUMENT naming `options`; groups are held against the channels where those are known.
void require_conv_options(const ConvKind& kind, const ConvOptions& options);

// `bias` may be undefined.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options);

}  // namespace halftone::ops
