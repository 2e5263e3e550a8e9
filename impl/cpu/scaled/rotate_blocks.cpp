#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/scaled/rotate_blocks.cpp"
#include "backend/formula/hadamard.h"
#include "cpu/device.h"
#include "cpu/scaled/entries.h"
#include "cpu/scaled/tiling.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/scaled/hadamard-inl.h"
#include "cpu/scaled/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Rotates panels [begin, end) for one thread. They begin at multiples of a block.
void rotate_bands(const View& in, uint32_t signs, const View& out, const Tiling& bands, int64_t begin, int64_t end) {
  PanelReader reader(in);
  alignas(64) float values[kPanelColumns];
  const HadamardMap map(signs);
  for (int64_t i = begin; i < end; ++i) {
    if (i + 1 < bands.count()) reader.prefetch(bands.at(i + 1));
    const Panel panel = reader.read(bands.at(i));
    const Rectangle& place = panel.place;
    for (int64_t row = place.row; row < place.end_row(); ++row) {
      const float* const from = panel.at(row, place.column);
      int64_t j = 0;
      for (; j + kHadamardSize <= place.columns; j += kHadamardSize) map.apply(from + j, values + j);
      std::copy_n(from + j, place.columns - j, values + j);
      const int64_t first = row * out.shape[1] + place.column;
      std::byte* const to = static_cast<std::byte*>(out.data) + first * static_cast<int64_t>(size_of(out.dtype));
      store_tile(values, place.columns, {to, out.dtype, 1});
    }
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(rotate_bands);

Status rotate_blocks(Stream& stream, const View& in, const PhiloxKey& key, const View& out) noexcept {
  if (out.numel() == 0) return {};
  const uint32_t signs = hadamard_signs(current_key(key));
  const Tiling bands = panels_of(in, {0, 0, out.shape[0], out.shape[1]});
  const auto rotate = HWY_DYNAMIC_DISPATCH(rotate_bands);
  for_each_range(pool_of(stream), bands.count(), bands.grain(),
                 [&](int64_t begin, int64_t end) { rotate(in, signs, out, bands, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
