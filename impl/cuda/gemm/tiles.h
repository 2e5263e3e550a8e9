// The sums of a product, tile by tile: the body of the kernels of our own, for matrices and for convolutions. A problem
// P has m, n and k, the elements a(row, depth) and b(depth, column) of its operands in the compute type C, and tells by
// a_by_depth() and b_by_depth() whether neighbours along the depth are neighbours in memory. Device code.
#pragma once

#include <cmath>

#include "cuda/base/launch.h"

namespace halftone::cuda {

// Rows and columns of c that one block computes, and the depth of the tiles that it holds in shared memory.
inline constexpr int kTileRows = 64;
inline constexpr int kTileColumns = 64;
inline constexpr int kTileDepth = 16;

// A thread computes kPart x kPart elements of c, kApart rows and columns from each other, so that threads side by side
// store side by side.
inline constexpr int kPart = 4;
inline constexpr int kApart = kTileRows / kPart;
static_assert(kTileRows == kTileColumns && kApart * kApart == kThreads && kTileRows * kTileDepth % kThreads == 0);

template <class C>
struct Tiles {
  C a[kTileDepth][kTileRows + 1];
  C b[kTileDepth][kTileColumns + 1];
};

inline int64_t tiles_of(int64_t rows, int64_t columns) {
  return (rows + kTileRows - 1) / kTileRows * ((columns + kTileColumns - 1) / kTileColumns);
}

// Elements outside of the matrices count as 0.
template <class C, class P>
HALFTONE_DEVICE void load_tiles(const P& problem, int64_t row, int64_t column, int64_t depth, int64_t depth_end,
                                Tiles<C>& tiles) {
  for (int t = static_cast<int>(threadIdx.x); t < kTileRows * kTileDepth; t += kThreads) {
    const int across = problem.a_by_depth() ? t / kTileDepth : t % kTileRows;
    const int along = problem.a_by_depth() ? t % kTileDepth : t / kTileRows;
    const bool is_inside = row + across < problem.m && depth + along < depth_end;
    tiles.a[along][across] = is_inside ? problem.template a<C>(row + across, depth + along) : C{0};
  }
  for (int t = static_cast<int>(threadIdx.x); t < kTileColumns * kTileDepth; t += kThreads) {
    const int across = problem.b_by_depth() ? t / kTileDepth : t % kTileColumns;
    const int along = problem.b_by_depth() ? t % kTileDepth : t / kTileColumns;
    const bool is_inside = column + across < problem.n && depth + along < depth_end;
    tiles.b[along][across] = is_inside ? problem.template b<C>(depth + along, column + across) : C{0};
  }
}

template <class C>
HALFTONE_DEVICE void add_tiles(const Tiles<C>& tiles, int first_row, int first_column, C (&sums)[kPart][kPart]) {
#pragma unroll
  for (int depth = 0; depth < kTileDepth; ++depth) {
    C a[kPart];
    C b[kPart];
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
      a[i] = tiles.a[depth][first_row + i * kApart];
      b[i] = tiles.b[depth][first_column + i * kApart];
    }
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
#pragma unroll
      for (int j = 0; j < kPart; ++j) sums[i][j] = std::fma(a[i], b[j], sums[i][j]);
    }
  }
}

// Computes tile number `tile` of c, row by row, over the depths [begin, end), and calls end_with(row, column, sum) for
// each element. All kThreads threads of the block call it.
template <class C, class P, class F>
HALFTONE_DEVICE void multiply_tile(const P& problem, int64_t tile, int64_t begin, int64_t end, const F& end_with) {
  __shared__ Tiles<C> tiles;
  const int64_t tiles_in_row = (problem.n + kTileColumns - 1) / kTileColumns;
  const int64_t row = tile / tiles_in_row * kTileRows;
  const int64_t column = tile % tiles_in_row * kTileColumns;
  const int first_row = static_cast<int>(threadIdx.x) / kApart;
  const int first_column = static_cast<int>(threadIdx.x) % kApart;
  C sums[kPart][kPart] = {};
  for (int64_t depth = begin; depth < end; depth += kTileDepth) {
    load_tiles(problem, row, column, depth, end, tiles);
    __syncthreads();
    add_tiles(tiles, first_row, first_column, sums);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
#pragma unroll
    for (int j = 0; j < kPart; ++j) {
      const int64_t y = row + first_row + i * kApart;
      const int64_t x = column + first_column + j * kApart;
      if (y < problem.m && x < problem.n) end_with(y, x, sums[i][j]);
    }
  }
}

}  // namespace halftone::cuda
