// The functions of the table kElementwiseKernels, and those that they call for some operands.
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
Status activation(Stream& stream, const Activation& activation, const View& x, const View& out) noexcept;
Status activation_backward(Stream& stream, const Activation& activation, const View& grad_output, const View& x,
                           const View& out) noexcept;
Status affine(Stream& stream, double scale, double shift, const View& x, const View& out) noexcept;

// True if `exponent` is one f64 element, finite and repeated, for a float output narrower than f64.
bool is_one_wide_exponent(const View& exponent, const View& out) noexcept;
// kPower and kPowerBaseBackward for such an exponent.
Status power(Stream& stream, const View& x, const View& exponent, const View& out) noexcept;
Status power_backward(Stream& stream, const View& grad_output, const View& x, const View& exponent,
                      const View& out) noexcept;

}  // namespace halftone::cpu
