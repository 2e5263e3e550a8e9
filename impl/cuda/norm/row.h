// Rows that a warp or a block takes, with the elements that each thread has of a row: tiles of adjacent ones where
// memory allows it, else every 32nd or 256th, so that adjacent threads read adjacent elements. The elements of a row of
// up to kRowTiles tiles a thread stay in registers.
#pragma once

#include "backend/view.h"
#include "cuda/base/block.h"
#include "cuda/base/map.h"
#include "cuda/base/places.h"

namespace halftone::cuda {

inline constexpr int kRowTiles = 4;

// N views of one shape, whose elements in row-major order are rows of equal length.
template <int N>
struct RowSet {
  Places<N> places;
  Operands<N> views;
  int64_t rows = 0;
  int64_t length = 0;
  bool is_tiled =
      false;  // each 8 elements of a row that begin at a multiple of 8 are adjacent and aligned in all views
};

namespace detail {

template <int N>
bool has_tiles(const RowSet<N>& set) {
  const Places<N>& places = set.places;
  const int last = places.rank - 1;
  if (last < 0 || set.length % kTile != 0 || places.sizes[last] % kTile != 0) return false;
  for (int v = 0; v < N; ++v) {
    if (places.strides[v][last] != 1 || !is_aligned(set.views.at[v].data)) return false;
    for (int d = 0; d < last; ++d) {
      if (places.strides[v][d] % kTile != 0) return false;
    }
  }
  return true;
}

}  // namespace detail

template <int N>
RowSet<N> row_set(const View* const (&views)[N], int64_t rows) {
  RowSet<N> set;
  set.places.count = views[0]->numel();
  for (int dim = 0; dim < views[0]->rank(); ++dim) detail::add_dimension(set.places, views, dim);
  for (int v = 0; v < N; ++v) set.views.at[v] = elements_of(*views[v]);
  set.rows = rows;
  set.length = rows == 0 ? 0 : set.places.count / rows;
  set.is_tiled = detail::has_tiles(set);
  return set;
}

// True if the elements of a row fit into the registers of `threads` threads.
inline bool fits_in_registers(int64_t length, int threads) { return length <= int64_t{kRowTiles} * kTile * threads; }

// A grid of blocks of kThreads threads, of which `threads` take a row.
inline Grid grid_for_row_threads(int64_t rows, int threads) {
  const int64_t of_block = kThreads / threads;
  return grid_for_rows((rows + of_block - 1) / of_block, kThreads);
}

// Calls f(row) for the rows of the caller's warp (T = 32) or block.
template <int T, class F>
HALFTONE_DEVICE inline void for_each_row(int64_t rows, F&& f) {
  constexpr int64_t kOfBlock = kThreads / T;
  const int64_t first = blockIdx.x * kOfBlock + threadIdx.x / T;
  for (int64_t row = first; row < rows; row += gridDim.x * kOfBlock) f(row);
}

// One row of a set, as one of T threads sees it.
template <int T, int N>
class RowReader {
 public:
  HALFTONE_DEVICE RowReader(const RowSet<N>& set, int64_t row)
      : set_(set), begin_(row * set.length), lane_(static_cast<int>(threadIdx.x) % T) {}

  HALFTONE_DEVICE bool leads() const { return lane_ == 0; }
  HALFTONE_DEVICE bool is_tiled() const { return set_.is_tiled; }
  HALFTONE_DEVICE int64_t length() const { return set_.length; }
  HALFTONE_DEVICE DType dtype(int view) const { return set_.views.at[view].dtype; }
  // The number of a thread's tiles.
  HALFTONE_DEVICE int64_t tiles() const { return (set_.length + int64_t{T} * kTile - 1) / (int64_t{T} * kTile); }
  // The place in the row of element i of the thread's tile k.
  HALFTONE_DEVICE int64_t index(int64_t k, int i) const {
    return set_.is_tiled ? (k * T + lane_) * kTile + i : (k * kTile + i) * T + lane_;
  }
  HALFTONE_DEVICE bool exists(int64_t k, int i) const { return index(k, i) < set_.length; }

  // Elements behind the row's end become `none`.
  template <class C>
  HALFTONE_DEVICE void load(int view, int64_t k, C none, C (&values)[kTile]) const {
    const Elements& from = set_.views.at[view];
    const auto load_whole = [&]<class E>() { load_tile_of<E>(from.data, offset(view, k, 0), values); };
    if (set_.is_tiled && exists(k, 0) && visit_trained_type<C>(from.dtype, load_whole)) return;
    C scattered[kTile];
    load_scattered(view, k, none, scattered);
#pragma unroll
    for (int i = 0; i < kTile; ++i) values[i] = scattered[i];
  }
  template <class C>
  HALFTONE_DEVICE void store(int view, int64_t k, const C (&values)[kTile]) const {
    const Elements& to = set_.views.at[view];
    const auto store_whole = [&]<class E>() { store_tile_of<E>(to.data, offset(view, k, 0), values); };
    if (set_.is_tiled && exists(k, 0) && visit_trained_type<C>(to.dtype, store_whole)) return;
    C scattered[kTile];
#pragma unroll
    for (int i = 0; i < kTile; ++i) scattered[i] = values[i];
    store_scattered(view, k, scattered);
  }

 private:
  // Functions of their own, with an array of their own: inlined into unrolled loops they make kernels that take minutes
  // to compile, and an array whose address is passed on does not stay in registers.
  template <class C>
  HALFTONE_NOINLINE HALFTONE_DEVICE void load_scattered(int view, int64_t k, C none, C* values) const {
    const Elements& from = set_.views.at[view];
    for (int i = 0; i < kTile; ++i) values[i] = exists(k, i) ? cuda::load<C>(from, offset(view, k, i)) : none;
  }
  template <class C>
  HALFTONE_NOINLINE HALFTONE_DEVICE void store_scattered(int view, int64_t k, const C* values) const {
    const Elements& to = set_.views.at[view];
    for (int i = 0; i < kTile; ++i) {
      if (exists(k, i)) cuda::store<C>(to, offset(view, k, i), values[i]);
    }
  }

  HALFTONE_NOINLINE HALFTONE_DEVICE int64_t offset(int view, int64_t k, int i) const {
    return offsets_at(set_.places, begin_ + index(k, i)).at[view];
  }

  const RowSet<N>& set_;
  int64_t begin_;
  int lane_;
};

// On each of the row's threads the combination of all their values.
template <int T, class V, class F>
HALFTONE_DEVICE inline V reduce_row(V value, V none, F combine) {
  if constexpr (T == kWarp) {
    return reduce_warp(value, combine);
  } else {
    return reduce_block(value, none, combine);
  }
}
template <int T, class V>
HALFTONE_DEVICE inline V sum_row(V value) {
  return reduce_row<T>(value, V(0), Sum<V>());
}

// A thread's elements of one view of a row: kept in registers, or read again for each pass. `tile(k, values)` reads
// them.
template <class C, bool kKept>
class RowValues {
 public:
  template <class Tile>
  HALFTONE_DEVICE RowValues(int64_t tiles, const Tile& tile) {
    if constexpr (kKept) {
#pragma unroll
      for (int k = 0; k < kRowTiles; ++k) {
        if (k < tiles) tile(k, kept_[k]);
      }
    }
  }
  // Calls f(k, values) for all tiles. What f changes stays changed if the values are kept.
  template <class Tile, class F>
  HALFTONE_DEVICE void each(int64_t tiles, const Tile& tile, F&& f) {
    if constexpr (kKept) {
#pragma unroll
      for (int k = 0; k < kRowTiles; ++k) {
        if (k < tiles) f(k, kept_[k]);
      }
    } else {
      for (int64_t k = 0; k < tiles; ++k) {
        C values[kTile];
        tile(k, values);
        f(k, values);
      }
    }
  }

 private:
  C kept_[kKept ? kRowTiles : 1][kTile];
};

}  // namespace halftone::cuda
