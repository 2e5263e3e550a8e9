// The functions behind kElementwiseKernels.
#pragma once

#include "backend/kernels/elementwise.h"

namespace halftone::cpu {

Status unary(Stream& stream, UnaryOp op, const View& x, const View& out) noexcept;
Status binary(Stream& stream, BinaryOp op, const View& a, const View& b, const View& out) noexcept;
Status ternary(Stream& stream, TernaryOp op, const View& a, const View& b, const View& c, const View& out) noexcept;
Status compare(Stream& stream, CompareOp op, const View& a, const View& b, const View& out) noexcept;
Status clamp(Stream& stream, const Bounds& bounds, const View& x, const View& out) noexcept;
Status clamp_backward(Stream& stream, const Bounds& bounds, const View& grad_output, const View& x,
                      const View& out) noexcept;
Status affine(Stream& stream, double scale, double shift, const View& x, const View& out) noexcept;

}  // namespace halftone::cpu
