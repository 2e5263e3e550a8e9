// Runs an elementwise kernel on tensors of a case's dtype and strides and compares every element with a reference in
// double. Used from one thread.
#pragma once

#include <gtest/gtest.h>

#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "host_tensor.h"
#include "tolerance.h"

namespace halftone {

inline constexpr DType kFloatDtypes[] = {DType::kF64,  DType::kF32,    DType::kF16,
                                         DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};
inline constexpr DType kIntegerDtypes[] = {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8};

inline Status run_unary(UnaryOp op, const HostTensor& x, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.unary(stream, op, x.view(), out.view());
}

inline Status run_binary(BinaryOp op, const HostTensor& a, const HostTensor& b, const HostTensor& out,
                         int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.binary(stream, op, a.view(), b.view(), out.view());
}

inline Status run_ternary(TernaryOp op, const HostTensor (&in)[3], const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.ternary(stream, op, in[0].view(), in[1].view(), in[2].view(), out.view());
}

inline Status run_compare(CompareOp op, const HostTensor& a, const HostTensor& b, const HostTensor& out,
                          int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.compare(stream, op, a.view(), b.view(), out.view());
}

inline Status run_clamp(const Bounds& bounds, const HostTensor& x, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.clamp(stream, bounds, x.view(), out.view());
}

inline Status run_clamp_backward(const Bounds& bounds, const HostTensor& grad_output, const HostTensor& x,
                                 const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.clamp_backward(stream, bounds, grad_output.view(), x.view(), out.view());
}

inline Status run_activation(const Activation& activation, const HostTensor& x, const HostTensor& out,
                             int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.activation(stream, activation, x.view(), out.view());
}

inline Status run_activation_backward(const Activation& activation, const HostTensor& grad_output, const HostTensor& x,
                                      const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.activation_backward(stream, activation, grad_output.view(), x.view(), out.view());
}

inline Status run_affine(double scale, double shift, const HostTensor& x, const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.affine(stream, scale, shift, x.view(), out.view());
}

// `in`: the addend and the two factors.
inline Status run_addcmul(double value, const HostTensor (&in)[3], const HostTensor& out, int threads = 1) {
  ThreadPool pool(threads);
  cpu::CpuStream stream(pool);
  return cpu::kElementwiseKernels.addcmul(stream, value, in[0].view(), in[1].view(), in[2].view(), out.view());
}

// expected(i) is the reference for element i.
template <class Expected>
void expect_elements(const HostTensor& out, Expected&& expected) {
  const DType dtype = out.view().dtype;
  for (int64_t i = 0; i < out.numel(); ++i) {
    ASSERT_TRUE(is_close(out.get(i), expected(i), dtype))
        << "element " << i << " is " << out.get(i) << ", not " << expected(i);
  }
  EXPECT_TRUE(out.guards_hold());
}

// Strides of a [5, 7, 33] operand: contiguous, padded rows, reversed dimensions, every second element, one repeated
// row, one repeated element.
inline const Shape kCaseShape = {5, 7, 33};
inline const Shape kDense = {231, 33, 1};
inline const Shape kCaseStrides[] = {kDense, {280, 40, 1}, {1, 5, 35}, {462, 66, 2}, {0, 0, 1}, {0, 0, 0}};
// The strides above that an output may have.
inline const Shape kOutputStrides[] = {kDense, {280, 40, 1}, {1, 5, 35}, {462, 66, 2}};

// Sizes at the end of a vector, a tile or a chunk, and one off.
inline constexpr int64_t kCaseSizes[] = {0, 1, 2, 15, 16, 17, 255, 511, 513, 1025};

}  // namespace halftone
