#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/random/dropout.cpp"
// Dropout. Integer comparison decides which elements are dropped, and each product is rounded once, so every
// instruction set gives the same bits.
#include "cpu/random/entries.h"

#include <algorithm>
#include <cmath>

#include "cpu/device.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/random/words.h"
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

static_assert(kChunkSize % kTileSize<float> == 0 && kTileSize<double> % kWordBlock == 0,
              "ranges and tiles begin on whole blocks of words");

template <class C>
void drop_elements(const Dropout& dropout, const Layout& in, const Layout& out, int64_t begin, int64_t end) {
  alignas(64) uint32_t words[kTileSize<C>];
  TileReader<C> reader(in);
  TileWriter<C> writer(out);
  const uint32_t threshold = static_cast<uint32_t>(std::ceil(dropout.p * 0x1p24));
  const C scale = static_cast<C>(dropout.scale);
  for (int64_t i = begin; i < end; i += kTileSize<C>) {
    const int64_t count = std::min(kTileSize<C>, end - i);
    draw_words(dropout.key, i, count, words);
    const C* HWY_RESTRICT from = reader.read(i, count);
    C* HWY_RESTRICT to = writer.tile(i, count);
    for (int64_t j = 0; j < count; ++j) to[j] = from[j] * ((words[j] >> 8) >= threshold ? scale : C{0});
    writer.commit(i, count);
  }
}

void drop_range(const Dropout& dropout, const Layout& in, const Layout& out, int64_t begin, int64_t end) {
  if (out.dtype() == DType::kF64) return drop_elements<double>(dropout, in, out, begin, end);
  drop_elements<float>(dropout, in, out, begin, end);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(drop_range);

Status dropout(Stream& stream, const Dropout& dropout, const View& in, const View& out) noexcept {
  const Layout in_layout(in);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(drop_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(dropout, in_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
