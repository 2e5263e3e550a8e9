// Products of packed blocks, and the packing: in FP32 with the matrix product's microkernel and packing, in double with
// plain loops over the layout of FP32. Included once per instruction set by the sources of this folder; pure
// functions, any thread.
#if defined(HALFTONE_ATTENTION_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_ATTENTION_PRODUCTS_INL_H_
#undef HALFTONE_ATTENTION_PRODUCTS_INL_H_
#else
#define HALFTONE_ATTENTION_PRODUCTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/attention/places.h"
#include "cpu/gemm/pack-inl.h"
#include "cpu/simd/strided_block.h"
#include "cpu/simd/tiles.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// The left operand [rows, depth].
template <class C>
struct Left {
  const C* data;
  int64_t row_stride;
  int64_t depth_stride;
};

// The right operand [depth, columns]: panels of kTileColumns columns, whose rows are contiguous.
template <class C>
struct Right {
  const C* data;
  int64_t depth_stride;
  int64_t panel_stride;
};

template <class C>
Left<C> as_left(const C* rows, int64_t depth) {
  return {rows, padded_depth(depth), 1};
}
template <class C>
Left<C> scores_as_left(const C* scores) {
  return {scores, kScoreStride, 1};
}
template <class C>
Left<C> scores_transposed(const C* scores) {
  return {scores, 1, kScoreStride};
}
// Packed rows of this many elements.
template <class C>
Right<C> as_right(const C* rows, int64_t columns) {
  return {rows, padded_depth(columns), kTileColumns};
}
// The transpose of rows, packed by pack_panels.
template <class C>
Right<C> panels_as_right(const C* panels, int64_t depth) {
  return {panels, kTileColumns, kTileColumns * depth};
}

// ---- Packing

template <class T>
Block<T> rows_of(const View& matrix, int64_t first, int64_t count) {
  return {static_cast<const ElementOf<T>*>(matrix.data),
          first,
          count,
          matrix.shape[0],
          matrix.shape[1],
          matrix.strides[0],
          matrix.strides[1]};
}

// Rows [first, first + count) of the matrix, padded_depth of their length apart.
inline void pack_rows(const View& matrix, int64_t first, int64_t count, float* out) {
  try_visit_dtype(OperandTypes{}, matrix.dtype, [&]<class T>() { pack_rows(rows_of<T>(matrix, first, count), out); });
}
inline void pack_rows(const View& matrix, int64_t first, int64_t count, double* out) {
  const int64_t stride = padded_depth(matrix.shape[1]);
  for (int64_t i = 0; i < count; ++i) load_tile(row_at(matrix, first + i), matrix.shape[1], out + i * stride);
}

// The transpose of these rows, in panels.
inline void pack_panels(const View& matrix, int64_t first, int64_t count, float* out) {
  try_visit_dtype(OperandTypes{}, matrix.dtype, [&]<class T>() {
    pack_columns(rows_of<T>(matrix, first, count), kTileColumns * matrix.shape[1], out);
  });
}
inline void pack_panels(const View& matrix, int64_t first, int64_t count, double* out) {
  const int64_t depth = matrix.shape[1];
  alignas(64) double part[kBlockElements];
  for (int64_t i = 0; i < count; ++i) {
    double* to = out + i / kTileColumns * kTileColumns * depth + i % kTileColumns;
    for (int64_t p = 0; p < depth; p += kBlockElements) {
      const int64_t size = std::min(kBlockElements, depth - p);
      load_tile(row_at(matrix, first + i, p), size, part);
      for (int64_t j = 0; j < size; ++j) to[(p + j) * kTileColumns] = part[j];
    }
  }
}

// ---- Products

// c [rows, columns] (+)= a [rows, depth] b [depth, columns]; FP32 may write whole vectors.
template <class C>
struct TileProduct {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  Left<C> a;
  Right<C> b;  // one panel
  C* c;
  int64_t c_row_stride;
  bool add;
};

inline void multiply(const TileProduct<float>& tile) {
  tile_function(static_cast<int>(tile.rows),
                static_cast<int>(tile.columns))({tile.a.data, tile.a.row_stride, tile.a.depth_stride, tile.b.data,
                                                 tile.b.depth_stride, tile.depth, tile.c, tile.c_row_stride, tile.add});
}

inline void multiply(const TileProduct<double>& tile) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    double sums[kTileColumns] = {};
    for (int64_t p = 0; p < tile.depth; ++p) {
      const double a = tile.a.data[i * tile.a.row_stride + p * tile.a.depth_stride];
      const double* b = tile.b.data + p * tile.b.depth_stride;
      for (int64_t j = 0; j < tile.columns; ++j) sums[j] += a * b[j];
    }
    double* c = tile.c + i * tile.c_row_stride;
    for (int64_t j = 0; j < tile.columns; ++j) c[j] = tile.add ? c[j] + sums[j] : sums[j];
  }
}

// The part of the depth that a tile of the result needs.
struct DepthRange {
  int64_t begin;
  int64_t end;
};

template <class C>
struct BlockProduct {
  int64_t rows;
  int64_t columns;
  Left<C> a;
  Right<C> b;
  C* c;
  int64_t c_row_stride;
  bool add;
};

// range_of(row, end of rows, column) gives the depth of a tile; a tile without depth is left as it is. multiply_tile
// computes one tile.
template <class C, class RangeOf, class MultiplyTile>
void multiply_block(const BlockProduct<C>& block, RangeOf&& range_of, MultiplyTile&& multiply_tile) {
  for (int64_t column = 0; column < block.columns; column += kTileColumns) {
    const C* panel = block.b.data + column / kTileColumns * block.b.panel_stride;
    const int64_t columns = std::min<int64_t>(kTileColumns, block.columns - column);
    for (int64_t row = 0; row < block.rows; row += kTileRows) {
      const int64_t rows = std::min<int64_t>(kTileRows, block.rows - row);
      const DepthRange range = range_of(row, row + rows, column);
      if (range.begin >= range.end) continue;
      const C* a = block.a.data + row * block.a.row_stride + range.begin * block.a.depth_stride;
      multiply_tile(TileProduct<C>{rows,
                                   columns,
                                   range.end - range.begin,
                                   {a, block.a.row_stride, block.a.depth_stride},
                                   {panel + range.begin * block.b.depth_stride, block.b.depth_stride, 0},
                                   block.c + row * block.c_row_stride + column,
                                   block.c_row_stride,
                                   block.add});
    }
  }
}
template <class C, class RangeOf>
void multiply_block(const BlockProduct<C>& block, RangeOf&& range_of) {
  multiply_block(block, range_of, [](const TileProduct<C>& tile) { multiply(tile); });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
