// The functions behind kElementwiseKernels.
#pragma once

#include "backend/kernels.h"

namespace halftone::cpu {

Status unary(Stream& stream, UnaryOp op, const View& x, const View& out) noexcept;
Status binary(Stream& stream, BinaryOp op, const View& a, const View& b, const View& out) noexcept;
Status affine(Stream& stream, double scale, double shift, const View& x, const View& out) noexcept;

}  // namespace halftone::cpu
