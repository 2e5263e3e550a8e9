// scaled_matmul: the product of two matrices of 8-bit floats, whose scales are read on the device.
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/gemm/gemm.h"
#include "ops/scaled/check.h"
#include "ops/scaled/fp8.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

void require_matrix(const Tensor& matrix, const char* name) {
  if (!is_float8(matrix.dtype())) {
    fail(Code::kDtypeMismatch, name, "%s is %s, expected f8e4m3 or f8e5m2", name, name_of(matrix.dtype()));
  }
  if (matrix.rank() != 2) {
    fail(Code::kShapeMismatch, name, "%s %s has %d dimensions, expected 2", name, ShapeText(matrix.shape()).text,
         matrix.rank());
  }
}

void require_factors(const Tensor& a, const Tensor& b) {
  require_matrix(a, "a");
  require_matrix(b, "b");
  require_same_device(a, "a", b, "b");
  if (a.size(1) == b.size(0)) return;
  fail(Code::kShapeMismatch, "b", "a.shape[1]=%lld differs from b.shape[0]=%lld", static_cast<long long>(a.size(1)),
       static_cast<long long>(b.size(0)));
}

void require_bias(const Tensor& bias, const Tensor& b) {
  if (!bias.defined()) return;
  if (!is_arithmetic_float(bias.dtype()) || bias.dtype() == DType::kF64) {
    fail(Code::kDtypeMismatch, "bias", "bias is %s, expected f32, f16 or bf16", name_of(bias.dtype()));
  }
  require_same_device(b, "b", bias, "bias");
  if (bias.rank() == 1 && bias.size(0) == b.size(1)) return;
  fail(Code::kShapeMismatch, "bias", "bias %s differs from [b.shape[1]=%lld]", ShapeText(bias.shape()).text,
       static_cast<long long>(b.size(1)));
}

void require_result(const Tensor& a, const Tensor& scale_out, DType dtype) {
  if (!is_float(dtype) || dtype == DType::kF64) {
    fail(Code::kInvalidArgument, "dtype", "dtype=%s, expected f32, f16, bf16, f8e4m3 or f8e5m2", name_of(dtype));
  }
  if (!scale_out.defined()) return;
  require_scale(a, "a", scale_out, "scale_out");
  if (is_float8(dtype)) return;
  fail(Code::kInvalidArgument, "scale_out", "scale_out is given for a result of %s; only 8-bit floats have a scale",
       name_of(dtype));
}

float* number_in(const Tensor& scale) { return scale.defined() ? static_cast<float*>(scale.data()) : nullptr; }

void require_operands(const Tensor& a, const Tensor& b, const ScaledOperands& operands, DType dtype) {
  require_factors(a, b);
  require_scale(a, "a", operands.scale_a, "scale_a");
  require_scale(a, "a", operands.scale_b, "scale_b");
  require_bias(operands.bias, b);
  require_result(a, operands.scale_out, dtype);
  require_written_scale(a, "a", operands.amax, "amax");
  // Kernels read the scales while they write amax.
  require_apart(operands.amax, operands.scale_a, "scale_a");
  require_apart(operands.amax, operands.scale_b, "scale_b");
  require_apart(operands.amax, operands.scale_out, "scale_out");
}

}  // namespace

Tensor scaled_matmul(const Tensor& a, const Tensor& b, const ScaledOperands& operands, DType dtype) {
  require_operands(a, b, operands, dtype);
  Tensor result = empty(a.device(), dtype, {a.size(0), b.size(1)});
  run_gemm("scaled_matmul", a.device(),
           {.a = a.view(),
            .b = b.view(),
            .bias = operands.bias.defined() ? operands.bias.view() : View{},
            .c = result.view(),
            .scales = {.a = number_in(operands.scale_a),
                       .b = number_in(operands.scale_b),
                       .c = number_in(operands.scale_out),
                       .amax = number_in(operands.amax)}});
  if (operands.amax.defined()) operands.amax.bump_version();
  return result;
}

}  // namespace halftone::ops
