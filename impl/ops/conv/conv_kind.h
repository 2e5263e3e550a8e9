// The convolutions by number of dimensions and direction.
#pragma once

#include "ops/dispatch/op.h"

namespace halftone::ops {

// The differences between the operations.
struct ConvKind {
  Op op;
  int dims;
  bool transposes;
};
inline constexpr ConvKind kConv1d = {Op::kConv1d, 1, false};
inline constexpr ConvKind kConv2d = {Op::kConv2d, 2, false};
inline constexpr ConvKind kConvTranspose1d = {Op::kConvTranspose1d, 1, true};
inline constexpr ConvKind kConvTranspose2d = {Op::kConvTranspose2d, 2, true};
inline constexpr ConvKind kConv3d = {Op::kConv3d, 3, false};
inline constexpr ConvKind kConvTranspose3d = {Op::kConvTranspose3d, 3, true};

}  // namespace halftone::ops
