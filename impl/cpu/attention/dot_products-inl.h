// Products of packed pairs of BF16 by dot products, and their packing. A word holds two neighbours along the depth of
// the product. Included by dot_forward.cpp and dot_backward.cpp for AVX-512; pure functions, any thread.
#if defined(HALFTONE_ATTENTION_DOT_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_ATTENTION_DOT_PRODUCTS_INL_H_
#undef HALFTONE_ATTENTION_DOT_PRODUCTS_INL_H_
#else
#define HALFTONE_ATTENTION_DOT_PRODUCTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/attention/dot_rows.h"
#include "cpu/attention/products-inl.h"
#include "cpu/gemm/dot.h"
#include "hwy/highway.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

static_assert(kTileRows == kDotTileRows && kTileColumns == 2 * kDotLanes);

constexpr int64_t words_of(int64_t elements) { return ceil_div(elements, kDotElements); }

// Rows [first, first + count) of the matrix as rows of pairs of neighbours, a left operand.
inline void pack_pair_rows(const View& matrix, int64_t first, int64_t count, float* out) {
  pack_rows(rows_of<BFloat16Pair>(matrix, first, count), out);
}
// The transpose of these rows, in panels: a right operand.
inline void pack_pair_panels(const View& matrix, int64_t first, int64_t count, float* out) {
  pack_columns(rows_of<BFloat16Pair>(matrix, first, count), kTileColumns * words_of(matrix.shape[1]), out);
}
// These rows as the depth of a product: pairs of rows, in panels of columns.
inline void pack_row_pairs(const View& matrix, int64_t first, int64_t count, float* out) {
  const int64_t columns = matrix.shape[1];
  const BFloat16* data = static_cast<const BFloat16*>(matrix.data) + first * matrix.strides[0];
  pack_columns(Block<BFloat16Pair>{data, 0, columns, columns, count, matrix.strides[1], matrix.strides[0]},
               kTileColumns * words_of(count), out);
}
// Panels of this depth, packed by one of the last two.
inline Right<float> pairs_as_right(const float* panels, int64_t depth) {
  return {panels, kTileColumns, kTileColumns * words_of(depth)};
}

// As multiply_block; ranges are in words.
template <class RangeOf>
void multiply_pairs(const BlockProduct<float>& block, RangeOf&& range_of) {
  multiply_block(block, range_of, [](const TileProduct<float>& tile) {
    dot_tile_function(static_cast<int>(tile.rows), static_cast<int>(tile.columns))(
        {tile.a.data, tile.a.row_stride, tile.a.depth_stride, tile.b.data, tile.b.depth_stride, tile.depth, tile.c,
         tile.c_row_stride, tile.add});
  });
}

// The scores of a row that products read: a tile of rows, or of keys, ends at most this many after the last one seen.
inline int64_t read_end(int64_t count, int64_t columns) { return std::min<int64_t>(count + kTileRows, columns); }
// Clears the words after those of `count` scores.
inline void clear_row_pairs(float* row, int64_t count, int64_t columns) {
  const int64_t begin = round_up(count, kPairStep) / kDotElements;
  const int64_t end = words_of(read_end(count, columns));
  if (begin < end) std::fill(row + begin, row + end, 0.0f);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX3

#endif
