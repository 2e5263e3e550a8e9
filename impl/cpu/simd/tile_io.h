// A view read or written as a sequence of tiles, whatever its dtype and strides. Memory that is contiguous and of the
// compute type is used in place. One reader or writer belongs to one thread; it holds its tile (2 KiB). For
// kernel files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_SIMD_TILE_IO_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SIMD_TILE_IO_H
#undef HALFTONE_CPU_SIMD_TILE_IO_H
#else
#define HALFTONE_CPU_SIMD_TILE_IO_H
#endif

#include "core/type_list.h"
#include "cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

template <class C>
class TileReader {
 public:
  // `layout` outlives the reader. A constant operand is loaded here, once.
  explicit TileReader(const Layout& layout) : layout_(layout) {
    if (layout.is_constant()) load_tile(layout.run_at(0, 1).elements, kTileSize<C>, tile_);
  }
  TileReader(const TileReader&) = delete;
  TileReader& operator=(const TileReader&) = delete;

  // Elements [begin, begin + count) in row-major order, valid until the next read. REQUIRES: 0 < count <= kTileSize<C>.
  const C* read(int64_t begin, int64_t count) {
    if (layout_.is_constant()) return tile_;
    const Layout::Run run = layout_.run_at(begin, count);
    const bool in_place = run.count == count && run.elements.stride == 1 && layout_.dtype() == dtype_of<C>;
    if (in_place) return reinterpret_cast<const C*>(run.elements.data);
    read_into(begin, count, tile_);
    return tile_;
  }

  // Reads the elements into the caller's memory; `count` is not limited.
  void read_into(int64_t begin, int64_t count, C* out) {
    layout_.for_each_run(begin, count, [&](const Strided& elements, int64_t offset, int64_t part) {
      load_tile(elements, part, out + offset);
    });
  }

 private:
  const Layout& layout_;
  alignas(64) C tile_[kTileSize<C>];
};

template <class C>
class TileWriter {
 public:
  // `layout` outlives the writer.
  explicit TileWriter(const Layout& layout) : layout_(layout) {}
  TileWriter(const TileWriter&) = delete;
  TileWriter& operator=(const TileWriter&) = delete;

  // Returns memory for elements [begin, begin + count); `commit` with the same range stores them.
  // REQUIRES: 0 < count <= kTileSize<C>.
  C* tile(int64_t begin, int64_t count) {
    const Layout::Run run = layout_.run_at(begin, count);
    in_place_ = run.count == count && run.elements.stride == 1 && layout_.dtype() == dtype_of<C>;
    return in_place_ ? reinterpret_cast<C*>(run.elements.data) : tile_;
  }
  void commit(int64_t begin, int64_t count) {
    if (!in_place_) write(begin, count, tile_);
  }

  // Stores elements from the caller's memory; `count` is not limited.
  void write(int64_t begin, int64_t count, const C* elements) {
    layout_.for_each_run(begin, count, [&](const Strided& out, int64_t offset, int64_t part) {
      store_tile(elements + offset, part, out);
    });
  }

 private:
  const Layout& layout_;
  bool in_place_ = false;
  alignas(64) C tile_[kTileSize<C>];
};

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SIMD_TILE_IO_H
