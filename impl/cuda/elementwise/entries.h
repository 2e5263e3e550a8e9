// The entries of the elementwise kernels, one source for each. elementwise.h of the seam gives their contracts.
#pragma once

#include "backend/kernels/elementwise.h"

namespace halftone::cuda {

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

// Calls f.operator()<op>() for the operation `wanted` of an enumeration that ends with kEnd, or returns UNSUPPORTED.
template <class Op, int first = 0, class F>
Status with_operation(Op wanted, F&& f) {
  if constexpr (first < static_cast<int>(Op::kEnd)) {
    if (static_cast<int>(wanted) == first) return f.template operator()<static_cast<Op>(first)>();
    return with_operation<Op, first + 1>(wanted, f);
  } else {
    return Status::failure(Code::kUnsupported, "there is no such elementwise operation");
  }
}

inline Status no_kernel_for(DType dtype) {
  return Status::failure(Code::kUnsupported, "this operation has no kernel for %s", name_of(dtype));
}

}  // namespace halftone::cuda
