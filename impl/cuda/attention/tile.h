// Tiles of scores: a block of threads computes kTileQueries x kTileKeys scores at a time, and sums over them. Eight
// threads share a row of a tile. Device code; all threads of the block call these functions.
#pragma once

#include <cmath>

#include "cuda/attention/operands.h"
#include "cuda/base/launch.h"

namespace halftone::cuda {

inline constexpr int kTileQueries = 32;
inline constexpr int kTileKeys = 32;
inline constexpr int kTileColumns = 128;  // of a result that a block keeps
inline constexpr int kDepthPart = 32;     // of an operand that shared memory holds
inline constexpr int kRowThreads = 8;
inline constexpr int kScoresEach = kTileKeys / kRowThreads;      // of a thread
inline constexpr int kColumnsEach = kTileColumns / kRowThreads;  // of a thread
static_assert(kTileQueries * kRowThreads == kThreads && kTileKeys == kTileQueries);

// The thread's row in a tile, and its first element there; the others follow kRowThreads apart.
HALFTONE_DEVICE inline int tile_row() { return static_cast<int>(threadIdx.x) / kRowThreads; }
HALFTONE_DEVICE inline int tile_first() { return static_cast<int>(threadIdx.x) % kRowThreads; }

template <class C>
struct OperandParts {
  C of_rows[kTileQueries][kDepthPart + 1];
  C of_columns[kTileKeys][kDepthPart + 1];
};

// A part of 32 rows of an operand from `row` on; rows and columns that do not exist count as 0.
template <class C>
HALFTONE_DEVICE void load_part(const HeadRows& from, int64_t offset, int64_t row, int64_t rows, int64_t column,
                               int64_t columns, C (&part)[kTileQueries][kDepthPart + 1]) {
  for (int t = static_cast<int>(threadIdx.x); t < kTileQueries * kDepthPart; t += kThreads) {
    const int r = t / kDepthPart;
    const int c = t % kDepthPart;
    const bool is_inside = row + r < rows && column + c < columns;
    part[r][c] = is_inside ? load_row<C>(from, offset, row + r, column + c) : C{0};
  }
}

// The rows of one operand and those of another; each score is the product of two of them.
struct RowPair {
  HeadRows a, b;
  int64_t offset_a, offset_b;
  int64_t row_a, rows_a;
  int64_t row_b, rows_b;
  int64_t depth;
};

// sums[k] = the product of row tile_row() of a and row tile_first() + k * kRowThreads of b.
template <class C>
HALFTONE_DEVICE void multiply_rows(const RowPair& pair, OperandParts<C>& parts, C (&sums)[kScoresEach]) {
  for (int k = 0; k < kScoresEach; ++k) sums[k] = 0;
  for (int64_t column = 0; column < pair.depth; column += kDepthPart) {
    __syncthreads();  // the part before may still be read
    load_part(pair.a, pair.offset_a, pair.row_a, pair.rows_a, column, pair.depth, parts.of_rows);
    load_part(pair.b, pair.offset_b, pair.row_b, pair.rows_b, column, pair.depth, parts.of_columns);
    __syncthreads();
    for (int d = 0; d < kDepthPart; ++d) {
      const C a = parts.of_rows[tile_row()][d];
#pragma unroll
      for (int k = 0; k < kScoresEach; ++k) {
        sums[k] = std::fma(a, parts.of_columns[tile_first() + k * kRowThreads][d], sums[k]);
      }
    }
  }
}

// sums[j] += the product of row tile_row() of `weights` and column tile_first() + j * kRowThreads of 32 rows of an
// operand from `row` on, at its columns from `column` on. `values` is shared memory for them.
template <class C>
HALFTONE_DEVICE void add_weighted(const C (&weights)[kTileQueries][kTileKeys + 1], const HeadRows& from, int64_t offset,
                                  int64_t row, int64_t rows, int64_t column, int64_t columns,
                                  C (&values)[kTileKeys][kTileColumns], C (&sums)[kColumnsEach]) {
  __syncthreads();  // the values before may still be read
  for (int t = static_cast<int>(threadIdx.x); t < kTileKeys * kTileColumns; t += kThreads) {
    const int r = t / kTileColumns;
    const int c = t % kTileColumns;
    const bool is_inside = row + r < rows && column + c < columns;
    values[r][c] = is_inside ? load_row<C>(from, offset, row + r, column + c) : C{0};
  }
  __syncthreads();
  for (int k = 0; k < kTileKeys; ++k) {
    const C weight = weights[tile_row()][k];
#pragma unroll
    for (int j = 0; j < kColumnsEach; ++j)
      sums[j] = std::fma(weight, values[k][tile_first() + j * kRowThreads], sums[j]);
  }
}

template <class C>
HALFTONE_DEVICE C least_number() {
  return -static_cast<C>(INFINITY);
}

// The score of a query and a key: -infinity for a key that the query does not see.
template <class C>
HALFTONE_DEVICE C masked_score(const AttentionShape& shape, const HeadRows& mask, int64_t mask_offset, int64_t query,
                               int64_t key, C product) {
  const bool sees =
      key < shape.keys && query < shape.queries && (!shape.is_causal || key <= query + shape.causal_offset);
  if (!sees) return least_number<C>();
  const C score = product * static_cast<C>(shape.scale);
  if (mask.elements.data == nullptr) return score;
  const C masking = load_row<C>(mask, mask_offset, query, key);
  if (is_float(mask.elements.dtype)) return score + masking;
  return masking != 0 ? score : least_number<C>();
}

// The keys that any query of a tile sees end here.
HALFTONE_DEVICE inline int64_t visible_end(const AttentionShape& shape, int64_t first_query) {
  if (!shape.is_causal) return shape.keys;
  const int64_t last =
      first_query + kTileQueries - 1 < shape.queries ? first_query + kTileQueries - 1 : shape.queries - 1;
  const int64_t end = last + shape.causal_offset + 1;
  return end < 0 ? 0 : end < shape.keys ? end : shape.keys;
}

// Reductions over the eight threads of a row.
template <class C>
HALFTONE_DEVICE C largest_of_row(C value) {
  for (int bits = kRowThreads / 2; bits > 0; bits /= 2) {
    value = std::fmax(value, __shfl_xor_sync(kAllLanes, value, bits));
  }
  return value;
}
template <class C>
HALFTONE_DEVICE C sum_of_row(C value) {
  for (int bits = kRowThreads / 2; bits > 0; bits /= 2) value += __shfl_xor_sync(kAllLanes, value, bits);
  return value;
}

}  // namespace halftone::cuda
