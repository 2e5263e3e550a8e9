// Scaled tensors: codes of a few bits with a scale for each block. backend/formula/scaling.h has the formulas, and
// capi/include/halftone/scaled.h documents the layouts. Nothing is recorded.
#pragma once

#include <cstdint>

#include "backend/kernels/scaled.h"
#include "core/number/number_format.h"
#include "ops/scaled/layout.h"
#include "tensor/tensor.h"

namespace halftone::ops {

struct ScaleOptions {
  ScaleLayout layout = ScaleLayout::kTensor;
  NumberFormat format = NumberFormat::kE4M3;  // of codes: kE4M3, kE5M2 or kE2M1; kE2M1 alone in the NV layouts
  bool scale_rounds_up = false;               // kMx1x32: nothing saturates; else OCP's rule
  bool stochastic = false;                    // rounding of codes
  PhiloxKey key = {};
  Tensor scale = {};  // kTensor: the scale, one f32; undefined for the tensor's own
  Tensor amax = {};   // kTensor: gets the largest magnitude, one f32; undefined for none
};

// A matrix of values. Copies share memory.
struct Scaled {
  Tensor codes;         // code_shape() of the matrix: E2M1 has the even code of a byte in the low half
  Tensor scales;        // scale_shape()
  Tensor tensor_scale;  // f32 [], in the NV layouts alone
  ScaleLayout layout = ScaleLayout::kTensor;
  NumberFormat format = NumberFormat::kE4M3;
  Shape shape;  // of the values, [rows, columns]
};

// The parts as kernels see them. Codes of E2M1 may be packed along either dimension, as those of a transposed tensor
// are.
ScaledView view_of(const Scaled& scaled) noexcept;

// x: [rows, columns], f32, f16 or bf16. Blocks lie along the last dimension of x, whatever its strides.
Scaled to_scaled(const Tensor& x, const ScaleOptions& options);
Tensor from_scaled(const Scaled& scaled, DType dtype);

}  // namespace halftone::ops
