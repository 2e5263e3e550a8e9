// Sums of adjacent columns, with terms computed on the way. Decides which thread reads which items and the order of the
// additions, by sizes alone. For kernel files that Highway compiles once per instruction set: include after
// hwy/highway.h.
#if defined(HALFTONE_CPU_REDUCE_COLUMN_SUMS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_REDUCE_COLUMN_SUMS_H
#undef HALFTONE_CPU_REDUCE_COLUMN_SUMS_H
#else
#define HALFTONE_CPU_REDUCE_COLUMN_SUMS_H
#endif

#include <algorithm>

#include "cpu/rows/strip_fold.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// True if elements can be written without a tile.
template <class C>
bool in_place(const Strided& elements) {
  return elements.stride == 1 && elements.dtype == dtype_of<C>;
}

// Calls fill(row) for a row of results: in place if possible, else in a tile that is then stored.
template <class C, class F>
HWY_INLINE void write_row(const Strided& target, int64_t width, F&& fill) {
  if (in_place<C>(target)) return fill(reinterpret_cast<C*>(target.data));
  alignas(64) C tile[kStripWidth<C>];
  fill(tile);
  store_tile(tile, width, target);
}

// Cuts the items of a strip of columns into pieces for several threads if the strips alone would not keep the threads
// busy; else there is one piece.
class ColumnSplit {
 public:
  static constexpr int64_t kMostPieces = 8;

  ColumnSplit(ThreadPool& pool, int64_t items, int64_t pieces) : pool_(pool), items_(items), pieces_(pieces) {}

  int64_t items() const { return items_; }
  int64_t pieces() const { return pieces_; }

  // Calls f(piece, first item, one past the last item).
  template <class F>
  void for_each_piece(F&& f) const {
    if (pieces_ == 1) return f(int64_t{0}, int64_t{0}, items_);
    pool_.parallel_for(pieces_,
                       [&](int64_t piece, int) { f(piece, items_ * piece / pieces_, items_ * (piece + 1) / pieces_); });
  }
  template <class F>
  void for_each_item(F&& f) const {
    for_each_piece([&](int64_t, int64_t first, int64_t last) {
      for (int64_t item = first; item < last; ++item) f(item);
    });
  }

 private:
  ThreadPool& pool_;
  int64_t items_;
  int64_t pieces_;
};

// Calls f(index of the strip, split) for strips of `width` columns with `items` items each.
template <class F>
void for_each_column_strip(ThreadPool& pool, int64_t strips, int64_t width, int64_t items, F&& f) {
  const int64_t strip_work = items * width;
  if (strips < ColumnSplit::kMostPieces && strip_work > kInlineTerms) {
    const ColumnSplit split(pool, items, std::min(ColumnSplit::kMostPieces, strip_work / kInlineTerms + 1));
    for (int64_t strip = 0; strip < strips; ++strip) f(strip, split);
    return;
  }
  const ColumnSplit whole(pool, items, 1);
  const int64_t step = std::max<int64_t>(1, kChunkSize / std::max<int64_t>(1, strip_work));
  pool.parallel_for((strips + step - 1) / step, [&](int64_t chunk, int) {
    for (int64_t strip = chunk * step; strip < std::min((chunk + 1) * step, strips); ++strip) f(strip, whole);
  });
}

// sums = `kinds` sums for each of `width` columns, kStripWidth<C> apart. add(item, step, tile) adds an item's terms to
// `step`; `tile` is scratch of a strip's width.
template <class C, int kinds, class Add>
void sum_columns(const ColumnSplit& split, int64_t width, C* sums, Add&& add) {
  constexpr int64_t kNumbers = kinds * kStripWidth<C>;
  alignas(64) C of_pieces[ColumnSplit::kMostPieces][kNumbers];
  split.for_each_piece([&](int64_t piece, int64_t first, int64_t last) {
    alignas(64) C tile[kStripWidth<C>];
    alignas(64) C step[kNumbers];
    PairwiseFold<Plus, C, kNumbers> tree;
    for (int64_t item = first; item < last;) {
      const int64_t end = std::min(item + kRowsPerStep, last);
      std::fill(step, step + kNumbers, C{0});
      for (; item < end; ++item) add(item, step, tile);
      tree.add(step);
    }
    tree.total(of_pieces[piece]);
  });
  for (int kind = 0; kind < kinds; ++kind) {
    for (int64_t j = kind * kStripWidth<C>; j < kind * kStripWidth<C> + width; ++j) {
      sums[j] = of_pieces[0][j];
      for (int64_t piece = 1; piece < split.pieces(); ++piece) sums[j] += of_pieces[piece][j];
    }
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_REDUCE_COLUMN_SUMS_H
