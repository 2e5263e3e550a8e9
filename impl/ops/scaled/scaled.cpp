#include "ops/scaled/scaled.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

ScaledView view_of(const Scaled& scaled) noexcept {
  const BlockSize block = block_size(scaled.layout, scaled.shape);
  ScaledView view = {.codes = scaled.codes.view(),
                     .scales = scaled.scales.view(),
                     .tensor_scale = nullptr,
                     .format = scaled.format,
                     .block_rows = block.rows,
                     .block_columns = block.columns};
  if (scaled.tensor_scale.defined()) view.tensor_scale = static_cast<const float*>(scaled.tensor_scale.data());
  if (scaled.layout == ScaleLayout::kTensor) {
    view.scales.shape = {1, 1};
    view.scales.strides = {0, 0};
  }
  if (scaled.format == NumberFormat::kE2M1) {
    // Bytes follow each other along the dimension that is packed.
    const bool along_rows = !(view.codes.shape == code_shape(scaled.format, scaled.shape));
    const Shape& strides = view.codes.strides;
    view.codes.strides = along_rows ? Shape{1, 2 * strides[1]} : Shape{2 * strides[0], 1};
    view.codes.shape = scaled.shape;
  }
  return view;
}

Tensor from_scaled(const Scaled& scaled, DType dtype) {
  if (!is_arithmetic_float(dtype)) {
    fail(Code::kInvalidArgument, "dtype", "dtype=%s, expected f64, f32, f16 or bf16", name_of(dtype));
  }
  Tensor result = empty(scaled.codes.device(), dtype, scaled.shape);
  launch("from_scaled", scaled.codes.device(), &Kernels::scaled, &ScaledKernels::dequantize_blocks, view_of(scaled),
         result.view());
  return result;
}

}  // namespace halftone::ops
