#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/scaled/dequantize_blocks.cpp"
#include "backend/formula/scaling.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "cpu/scaled/entries.h"
#include "cpu/scaled/tiling.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// The codes of a row as FP32. Two codes of E2M1 are in a byte, whatever the stride.
void load_codes(const ScaledView& in, int64_t row, int64_t column, int64_t count, float* HWY_RESTRICT out) {
  const int64_t stride = in.codes.strides[1];
  const int64_t first = row * in.codes.strides[0] + column * stride;
  if (in.format != NumberFormat::kE2M1) {
    return load_tile({static_cast<std::byte*>(in.codes.data) + first, in.codes.dtype, stride}, count, out);
  }
  const uint8_t* const bytes = static_cast<const uint8_t*>(in.codes.data);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t code = first + i * stride;
    out[i] = Float4E2M1{static_cast<uint8_t>(bytes[code / 2] >> (code % 2 * 4) & 15)};
  }
}

float scale_at(const ScaledView& in, int64_t row, int64_t column) {
  const int64_t i = row / in.block_rows * in.scales.strides[0] + column / in.block_columns * in.scales.strides[1];
  if (in.scales.dtype == DType::kU8) return static_cast<const ScaleE8M0*>(in.scales.data)[i];
  if (in.scales.dtype == DType::kF8E4M3) return static_cast<const Float8E4M3*>(in.scales.data)[i];
  return static_cast<const float*>(in.scales.data)[i];
}

}  // namespace

// Computes `band`, whose columns are at most kPanelColumns.
void dequantize_band(const ScaledView& in, const Rectangle& band, const View& out) {
  const float tensor_scale = in.tensor_scale == nullptr ? 1.0f : *in.tensor_scale;
  alignas(64) float values[kPanelColumns];
  for (int64_t row = band.row; row < band.end_row(); ++row) {
    load_codes(in, row, band.column, band.columns, values);
    for (int64_t begin = band.column, end; begin < band.end_column(); begin = end) {
      end = std::min(band.end_column(), (begin / in.block_columns + 1) * in.block_columns);
      const float scale = scale_at(in, row, begin);
      float* HWY_RESTRICT const block = values + (begin - band.column);
      for (int64_t i = 0; i < end - begin; ++i) block[i] = block[i] * scale * tensor_scale;
    }
    const int64_t first = row * out.shape[1] + band.column;
    std::byte* const place = static_cast<std::byte*>(out.data) + first * static_cast<int64_t>(size_of(out.dtype));
    store_tile(values, band.columns, {place, out.dtype, 1});
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(dequantize_band);

Status dequantize_blocks(Stream& stream, const ScaledView& in, const View& out) noexcept {
  if (out.numel() == 0) return {};
  const Tiling bands({0, 0, out.shape[0], out.shape[1]}, kPanelRows, kPanelColumns);
  const auto dequantize = HWY_DYNAMIC_DISPATCH(dequantize_band);
  for_each_range(pool_of(stream), bands.count(), bands.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) dequantize(in, bands.at(i), out);
  });
  return {};
}

const ScaledKernels kScaledKernels = {HALFTONE_SCALED_ENTRIES(HALFTONE_ENTRY_ROW)};

}  // namespace halftone::cpu
#endif  // HWY_ONCE
