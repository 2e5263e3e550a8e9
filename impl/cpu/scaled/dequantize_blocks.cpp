#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/scaled/dequantize_blocks.cpp"
#include <algorithm>
#include <array>
#include <cstring>

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

// Codes of E2M1 as those of the same numbers in E4M3.
constexpr uint8_t kAsE4M3[16] = {0x00, 0x30, 0x38, 0x3c, 0x40, 0x44, 0x48, 0x4c,
                                 0x80, 0xb0, 0xb8, 0xbc, 0xc0, 0xc4, 0xc8, 0xcc};

// A byte of two codes as two bytes.
constexpr auto kPairs = [] {
  std::array<std::array<uint8_t, 2>, 256> pairs = {};
  for (size_t byte = 0; byte < 256; ++byte) pairs[byte] = {kAsE4M3[byte & 15], kAsE4M3[byte >> 4]};
  return pairs;
}();

// Codes [first, first + count) of E2M1, `stride` codes apart, as codes of E4M3. `out` has room for one more.
void unpack_codes(const uint8_t* bytes, int64_t first, int64_t stride, int64_t count, uint8_t* HWY_RESTRICT out) {
  if (stride == 1 && first % 2 == 0) {
    for (int64_t i = 0; i < count; i += 2) std::memcpy(out + i, kPairs[bytes[(first + i) / 2]].data(), 2);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t code = first + i * stride;
    out[i] = kPairs[bytes[code / 2]][static_cast<size_t>(code % 2)];
  }
}

// The codes of a row as FP32. At most kPanelColumns.
void load_codes(const ScaledView& in, int64_t row, int64_t column, int64_t count, float* HWY_RESTRICT out) {
  const int64_t stride = in.codes.strides[1];
  const int64_t first = row * in.codes.strides[0] + column * stride;
  if (in.format != NumberFormat::kE2M1) {
    return load_tile({static_cast<std::byte*>(in.codes.data) + first, in.codes.dtype, stride}, count, out);
  }
  uint8_t codes[kPanelColumns];
  unpack_codes(static_cast<const uint8_t*>(in.codes.data), first, stride, count, codes);
  load_tile({reinterpret_cast<std::byte*>(codes), DType::kF8E4M3, 1}, count, out);
}

float scale_at(const View& scales, int64_t place) {
  if (scales.dtype == DType::kU8) return static_cast<const ScaleE8M0*>(scales.data)[place];
  if (scales.dtype == DType::kF8E4M3) return static_cast<const Float8E4M3*>(scales.data)[place];
  return static_cast<const float*>(scales.data)[place];
}

// Multiplies the codes of a row, `count` from `column` on, by their scales.
void apply_scales(const ScaledView& in, int64_t row, int64_t column, int64_t count, float* HWY_RESTRICT values) {
  const float tensor_scale = in.tensor_scale == nullptr ? 1.0f : *in.tensor_scale;
  const int64_t width = in.block_columns, step = in.scales.strides[1];
  int64_t place = row / in.block_rows * in.scales.strides[0] + column / width * step;
  for (int64_t begin = 0, left = width - column % width; begin < count; begin += left, left = width, place += step) {
    const float scale = scale_at(in.scales, place);
    const int64_t end = std::min(count, begin + left);
    for (int64_t i = begin; i < end; ++i) values[i] = values[i] * scale * tensor_scale;
  }
}

}  // namespace

// Computes `band`, whose columns are at most kPanelColumns.
void dequantize_band(const ScaledView& in, const Rectangle& band, const View& out) {
  alignas(64) float values[kPanelColumns];
  for (int64_t row = band.row; row < band.end_row(); ++row) {
    load_codes(in, row, band.column, band.columns, values);
    apply_scales(in, row, band.column, band.columns, values);
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
  const Tiling bands({0, 0, out.shape[0], out.shape[1]}, kPanelSize / kPanelColumns, kPanelColumns);
  const auto dequantize = HWY_DYNAMIC_DISPATCH(dequantize_band);
  for_each_range(pool_of(stream), bands.count(), bands.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) dequantize(in, bands.at(i), out);
  });
  return {};
}

const ScaledKernels kScaledKernels = {HALFTONE_SCALED_ENTRIES(HALFTONE_ENTRY_ROW)};

}  // namespace halftone::cpu
#endif  // HWY_ONCE
