// A reduction as its kernels see it: every output has the same number of terms. Host code sorts the dimensions into
// kept and reduced ones, and plans which threads share an output. Pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "backend/view.h"
#include "cuda/base/element.h"
#include "cuda/base/places.h"

namespace halftone::cuda {

// Threads of a block that reduces.
inline constexpr int kFoldThreads = 256;

// A block takes `width` outputs, and `depth` threads share the terms of each. Where there are few outputs, their terms
// are cut into `pieces`, which blocks take side by side.
struct FoldPlan {
  int width = 1;
  int depth = kFoldThreads;
  bool by_columns = false;  // adjacent threads take adjacent outputs, else adjacent terms of one output
  int64_t pieces = 1;
  int64_t piece_length = 0;  // a multiple of kTile where there are several pieces
};

namespace detail {

inline int power_of_two_for(int64_t count, int64_t most) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(count, 1, most))));
}

}  // namespace detail

// By the sizes alone, so that every device adds in the same order. `most_partials` bounds outputs times pieces. A
// thread gets at least 8 terms (16 of a row, which are two tiles), and a piece gives it 32.
inline FoldPlan plan_fold(int64_t outputs, int64_t terms, bool by_columns, int64_t most_partials) {
  constexpr int64_t kFullGrid = 1024;  // blocks
  FoldPlan plan;
  plan.by_columns = by_columns;
  const int64_t least = by_columns ? 8 : 16;
  plan.depth = detail::power_of_two_for((terms + least - 1) / least, kFoldThreads);
  if (by_columns) plan.depth = std::min(plan.depth, kFoldThreads / detail::power_of_two_for(outputs, kWarp));
  plan.width = kFoldThreads / plan.depth;
  const int64_t blocks = std::max<int64_t>((outputs + plan.width - 1) / plan.width, 1);
  const int64_t useful = std::min(kFullGrid / blocks, terms / (int64_t{32} * plan.depth));
  const int64_t pieces = std::max<int64_t>(std::min(useful, most_partials / std::max<int64_t>(outputs, 1)), 1);
  plan.piece_length = pieces == 1 ? terms : ((terms + pieces - 1) / pieces + kTile - 1) / kTile * kTile;
  plan.pieces = pieces == 1 ? 1 : (terms + plan.piece_length - 1) / plan.piece_length;
  return plan;
}

// N large views have a term for every output; M small ones have one element for every output.
template <int N, int M>
struct Geometry {
  Places<N + M> outputs;  // offsets of an output's first term in the large views, then of its elements in the small
  Places<N> terms;        // offsets of the other terms from the first
  bool is_tiled =
      false;  // the terms of every output lie side by side, and tiles of them are aligned in all large views
};

namespace detail {

// A dimension of all views. Sorted so that the last one has the smallest stride of the first view.
struct Dimension {
  int index;
  int64_t stride;
};

inline bool is_larger(const Dimension& a, const Dimension& b) { return a.stride > b.stride; }

template <int K>
Places<K> places_along(const View* const (&views)[K], Dimension* first, Dimension* last) {
  std::stable_sort(first, last, is_larger);
  Places<K> places;
  places.count = 1;
  for (Dimension* dim = first; dim != last; ++dim) {
    places.count *= views[0]->shape[dim->index];
    add_dimension(places, views, dim->index);
  }
  return places;
}

template <int N, int K>
bool are_tiled(const View* const (&large)[N], const Places<K>& outputs, const Places<N>& terms) {
  if (terms.rank != 1) return false;
  for (int v = 0; v < N; ++v) {
    if (terms.strides[v][0] != 1 || !is_aligned(large[v]->data)) return false;
    for (int d = 0; d < outputs.rank; ++d) {
      if (outputs.strides[v][d] % kTile != 0) return false;
    }
  }
  return true;
}

}  // namespace detail

// REQUIRES: the large views have one shape and the small ones another, which has size 1 in the reduced dimensions.
template <int N, int M>
Geometry<N, M> geometry_of(const View* const (&large)[N], const View* const (&small)[M]) {
  detail::Dimension kept[kMaxRank], reduced[kMaxRank];
  int kept_count = 0, reduced_count = 0;
  const View& first = *large[0];
  for (int i = 0; i < first.rank(); ++i) {
    const bool is_kept = small[0]->shape[i] == first.shape[i];
    (is_kept ? kept[kept_count++] : reduced[reduced_count++]) = detail::Dimension{i, std::abs(first.strides[i])};
  }
  const View* all[N + M];
  std::copy_n(large, N, all);
  std::copy_n(small, M, all + N);
  Geometry<N, M> geometry;
  geometry.outputs = detail::places_along(all, kept, kept + kept_count);
  geometry.terms = detail::places_along(large, reduced, reduced + reduced_count);
  geometry.is_tiled = detail::are_tiled(large, geometry.outputs, geometry.terms);
  return geometry;
}

// True where adjacent outputs lie closer in memory than the terms of one output.
template <int N, int M>
bool is_by_columns(const Geometry<N, M>& geometry) {
  const Places<N + M>& outputs = geometry.outputs;
  const Places<N>& terms = geometry.terms;
  if (outputs.rank == 0) return false;
  const int64_t between_outputs = std::abs(outputs.strides[0][outputs.rank - 1]);
  return terms.rank == 0 || between_outputs < std::abs(terms.strides[0][terms.rank - 1]);
}

}  // namespace halftone::cuda
