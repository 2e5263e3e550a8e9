#include "ops/scaled/layout.h"

#include <algorithm>

#include "core/error.h"

namespace halftone::ops {

void require_format(ScaleLayout layout, NumberFormat format, const char* argument) {
  const auto layout_value = static_cast<int32_t>(layout), format_value = static_cast<int32_t>(format);
  if (layout_value < 1 || layout_value > kScaleLayoutLast) {
    fail(Code::kInvalidArgument, argument, "layout=%d, expected 1 to %d", layout_value, kScaleLayoutLast);
  }
  if (format < NumberFormat::kE4M3 || format > NumberFormat::kE2M1) {
    fail(Code::kInvalidArgument, argument, "format=%d, expected E4M3, E5M2 or E2M1", format_value);
  }
  if (!is_nv(layout) || format == NumberFormat::kE2M1) return;
  fail(Code::kInvalidArgument, argument, "format=%d, expected E2M1, the only one of the NV layouts", format_value);
}

BlockSize block_size(ScaleLayout layout, const Shape& matrix) noexcept {
  switch (layout) {
    case ScaleLayout::kTensor:
      return {std::max<int64_t>(1, matrix[0]), std::max<int64_t>(1, matrix[1])};
    case ScaleLayout::kRow:
      return {1, std::max<int64_t>(1, matrix[1])};
    case ScaleLayout::kBlock1x128:
      return {1, 128};
    case ScaleLayout::kBlock128x128:
      return {128, 128};
    case ScaleLayout::kMx1x32:
      return {1, 32};
    case ScaleLayout::kNv1x16:
      return {1, 16};
    case ScaleLayout::kNv16x16:
      break;
  }
  return {16, 16};
}

Shape matrix_shape(const Shape& shape) noexcept {
  const int last = shape.rank() - 1;
  return {numel(Shape(shape.begin(), last)), shape[last]};
}

DType code_dtype(NumberFormat format) noexcept {
  if (format == NumberFormat::kE2M1) return DType::kU8;
  return format == NumberFormat::kE4M3 ? DType::kF8E4M3 : DType::kF8E5M2;
}

Shape code_shape(NumberFormat format, const Shape& shape) noexcept {
  Shape result = shape;
  int64_t& last = result[shape.rank() - 1];
  if (format == NumberFormat::kE2M1) last = (last + 1) / 2;
  return result;
}

DType scale_dtype(ScaleLayout layout) noexcept {
  if (is_nv(layout)) return DType::kF8E4M3;
  return layout == ScaleLayout::kMx1x32 ? DType::kU8 : DType::kF32;
}

Shape scale_shape(ScaleLayout layout, const Shape& matrix) noexcept {
  if (layout == ScaleLayout::kTensor) return {};
  // A row without elements has a scale, too.
  if (layout == ScaleLayout::kRow) return {matrix[0], 1};
  const BlockSize block = block_size(layout, matrix);
  return {(matrix[0] + block.rows - 1) / block.rows, (matrix[1] + block.columns - 1) / block.columns};
}

}  // namespace halftone::ops
