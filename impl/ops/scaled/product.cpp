#include "ops/scaled/product.h"

#include <utility>

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/gemm/gemm.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

Tensor with_dimensions_swapped(const Tensor& matrix) {
  if (matrix.rank() != 2) return matrix;
  const Shape& shape = matrix.shape();
  const Shape& strides = matrix.strides();
  return matrix.as_strided({shape[1], shape[0]}, {strides[1], strides[0]}, matrix.offset());
}

// Scales of rows are any f32, those of smaller blocks are powers of two.
ScaleFormat format_of(const Scaled& scaled) {
  if (scaled.layout == ScaleLayout::kMx1x32) return ScaleFormat::kE8M0;
  if (is_nv(scaled.layout)) return ScaleFormat::kE4M3;
  return scaled.layout == ScaleLayout::kRow ? ScaleFormat::kF32 : ScaleFormat::kF32Power;
}

// An operand as a GEMM takes it.
struct Operand {
  View codes;
  BlockScales blocks;
  const float* factor;
};

Operand operand_of(const Scaled& scaled) {
  const ScaledView view = view_of(scaled);
  const View& scales = view.scales;
  if (scaled.layout == ScaleLayout::kTensor) return {view.codes, {}, static_cast<const float*>(scales.data)};
  const BlockScales blocks = {.data = scales.data,
                              .format = format_of(scaled),
                              .rows = view.block_rows,
                              .columns = view.block_columns,
                              .strides = {scales.strides[0], scales.strides[1]}};
  return {view.codes, blocks, view.tensor_scale};
}

Operand transposed(Operand operand) {
  operand.codes = halftone::transposed(operand.codes);
  std::swap(operand.blocks.rows, operand.blocks.columns);
  std::swap(operand.blocks.strides[0], operand.blocks.strides[1]);
  return operand;
}

void require_factors(const Scaled& a, const Scaled& b) {
  require_same_device(a.codes, "a", b.codes, "b");
  if (a.shape[1] == b.shape[1]) return;
  fail(Code::kShapeMismatch, "b", "b.shape[1]=%lld differs from a.shape[1]=%lld", static_cast<long long>(b.shape[1]),
       static_cast<long long>(a.shape[1]));
}

void require_small_float(DType dtype, const char* argument, Code code) {
  if (is_arithmetic_float(dtype) && dtype != DType::kF64) return;
  fail(code, argument, "%s=%s, expected f32, f16 or bf16", argument, name_of(dtype));
}

void require_bias(const Tensor& bias, const Scaled& b) {
  if (!bias.defined()) return;
  require_small_float(bias.dtype(), "bias", Code::kDtypeMismatch);
  require_same_device(b.codes, "b", bias, "bias");
  if (bias.rank() == 1 && bias.size(0) == b.shape[0]) return;
  fail(Code::kShapeMismatch, "bias", "bias %s differs from [b.shape[0]=%lld]", ShapeText(bias.shape()).text,
       static_cast<long long>(b.shape[0]));
}

}  // namespace

Scaled transposed(const Scaled& scaled, const char* argument) {
  if (!has_square_blocks(scaled.layout)) {
    fail(Code::kInvalidArgument, argument, "%s has blocks along its rows, and cannot be transposed", argument);
  }
  Scaled result = scaled;
  result.codes = with_dimensions_swapped(scaled.codes);
  result.scales = with_dimensions_swapped(scaled.scales);
  std::swap(result.shape[0], result.shape[1]);
  return result;
}

void run_scaled_gemm(const char* operation, const Scaled& a, const Scaled& b, GemmArgs rest) {
  require_factors(a, b);
  const Operand left = operand_of(a);
  const Operand right = transposed(operand_of(b));
  rest.a = left.codes;
  rest.b = right.codes;
  rest.a_blocks = left.blocks;
  rest.b_blocks = right.blocks;
  rest.scales.a = left.factor;
  rest.scales.b = right.factor;
  run_gemm(operation, a.codes.device(), rest);
}

Tensor scaled_product(const Scaled& a, const Scaled& b, const Tensor& bias, DType dtype) {
  require_factors(a, b);
  require_bias(bias, b);
  require_small_float(dtype, "dtype", Code::kInvalidArgument);
  Tensor result = empty(a.codes.device(), dtype, {a.shape[0], b.shape[0]});
  GemmArgs rest;
  if (bias.defined()) rest.bias = bias.view();
  rest.c = result.view();
  run_scaled_gemm("scaled_product", a, b, rest);
  return result;
}

}  // namespace halftone::ops
