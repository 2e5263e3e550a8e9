// Applies a function of rows to views of any dtype and strides, tile by tile.
// For kernel files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_ELEMENTWISE_MAP_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_ELEMENTWISE_MAP_H
#undef HALFTONE_CPU_ELEMENTWISE_MAP_H
#else
#define HALFTONE_CPU_ELEMENTWISE_MAP_H
#endif

#include <algorithm>

#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

template <class C>
bool is_row_of(const Layout& layout) {
  return layout.dtype() == dtype_of<C> && layout.is_dense();
}

// Calls row(inputs..., out, count) for elements [begin, end): once, on the memory itself, if every view is dense and of
// the compute type; else tile by tile. `In` is Layout, once for each input.
template <class C, class Row, class... In>
void map_range(Row row, const Layout& out, int64_t begin, int64_t end, const In&... in) {
  if (is_row_of<C>(out) && (is_row_of<C>(in) && ...)) {
    row((in.template elements<const C>() + begin)..., out.elements<C>() + begin, end - begin);
    return;
  }
  TileWriter<C> writer(out);
  const auto map_tiles = [&](auto&&... reader) {
    for (int64_t i = begin; i < end; i += kTileSize<C>) {
      const int64_t count = std::min(kTileSize<C>, end - i);
      row(reader.read(i, count)..., writer.tile(i, count), count);
      writer.commit(i, count);
    }
  };
  map_tiles(TileReader<C>(in)...);
}

// As map_range, between views of BF16: `narrow` is called once on dense memory. The tiles of `row` would wait for
// memory while nothing computes. Both compute the same function.
template <class Narrow, class Row, class... In>
void map_narrow_range(Narrow narrow, Row row, const Layout& out, int64_t begin, int64_t end, const In&... in) {
  if (!is_row_of<BFloat16>(out) || !(is_row_of<BFloat16>(in) && ...)) {
    return map_range<float>(row, out, begin, end, in...);
  }
  narrow((in.template elements<const BFloat16>() + begin)..., out.elements<BFloat16>() + begin, end - begin);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_ELEMENTWISE_MAP_H
