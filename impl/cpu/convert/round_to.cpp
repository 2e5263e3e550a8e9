#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/convert/round_to.cpp"
#include "cpu/convert/round_to.h"

#include <algorithm>

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

// Compiled once, not for each type.
HWY_NOINLINE void draw(PhiloxKey key, int64_t begin, int64_t count, uint32_t* words) {
  draw_words(key, begin, count, words);
}

template <class C>
void round_elements(const FormatRounding& rule, const Layout& in, const Layout& out, int64_t begin, int64_t end) {
  alignas(64) uint32_t words[kTileSize<C>] = {};
  TileReader<C> reader(in);
  TileWriter<C> writer(out);
  const FormatGrid<C> grid = grid_of<C>(rule);
  for (int64_t i = begin; i < end; i += kTileSize<C>) {
    const int64_t count = std::min(kTileSize<C>, end - i);
    const C* HWY_RESTRICT from = reader.read(i, count);
    C* HWY_RESTRICT to = writer.tile(i, count);
    if (rule.rounding == Rounding::kStochastic) draw(rule.key, i, count, words);
    for (int64_t j = 0; j < count; ++j) to[j] = round_to_format(from[j], grid, words[j]);
    writer.commit(i, count);
  }
}

void round_range(const FormatRounding& rule, const Layout& in, const Layout& out, int64_t begin, int64_t end) {
  if (out.dtype() == DType::kF64) return round_elements<double>(rule, in, out, begin, end);
  round_elements<float>(rule, in, out, begin, end);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(round_range);

Status round_to(Stream& stream, const View& in, const FormatRounding& rule, const View& out) noexcept {
  const Layout in_layout(in);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(round_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(rule, in_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
