// Goes over the terms of one output, in as few and as wide accesses as the layout allows. Device code.
#pragma once

#include "cuda/base/element.h"
#include "cuda/base/map.h"
#include "cuda/base/places.h"
#include "cuda/reduce/group.h"

namespace halftone::cuda {

// Terms that a thread reads at a time where they are not tiled, so that several loads are under way.
inline constexpr int kBatch = 4;

template <class C, int K>
HALFTONE_DEVICE inline void load_at(const Elements& from, const int64_t (&at)[K], C (&values)[K]) {
  visit_element_type(from.dtype, [&]<class T>() {
#pragma unroll
    for (int k = 0; k < K; ++k) values[k] = widen<C>(static_cast<const T*>(from.data)[at[k]]);
  });
}

template <class C, int K>
HALFTONE_DEVICE inline void store_at(const Elements& to, const int64_t (&at)[K], const C (&values)[K]) {
  visit_element_type(to.dtype, [&]<class T>() {
#pragma unroll
    for (int k = 0; k < K; ++k) static_cast<T*>(to.data)[at[k]] = narrow<T>(values[k]);
  });
}

// The terms [begin, end) of one output in N large views, of which the first L are read.
template <class C, int L, int N>
class Terms {
 public:
  HALFTONE_DEVICE Terms(const Operands<N>& views, const Places<N>& places, bool is_tiled, const int64_t (&base)[N])
      : views_(views), places_(places), is_tiled_(is_tiled) {
#pragma unroll
    for (int v = 0; v < N; ++v) base_[v] = base[v];
  }
  HALFTONE_DEVICE void set_range(int64_t begin, int64_t end) {
    begin_ = begin;
    end_ = end;
  }
  HALFTONE_DEVICE int64_t count() const { return end_ - begin_; }

  // Calls f(values[L][K], i, step, put) for the terms of one thread of the group: K terms, of which the first has
  // number i and each further one a number larger by `step`. put(results[K]) stores to the last view at the same
  // places.
  template <class F>
  HALFTONE_DEVICE void for_each(const Group& group, F&& f) const {
    int64_t i = begin_;
    if (is_tiled_) {
      for (i += int64_t{kTile} * group.lane(); i + kTile <= end_; i += int64_t{kTile} * group.depth()) take_tile(i, f);
      i = begin_ + (end_ - begin_) / kTile * kTile;
    }
    const int64_t step = group.depth();
    i += group.lane();
    for (; i + (kBatch - 1) * step < end_; i += kBatch * step) take<kBatch>(i, step, f);
    for (; i < end_; i += step) take<1>(i, step, f);
  }

 private:
  template <class F>
  HALFTONE_DEVICE void take_tile(int64_t i, F& f) const {
    C values[L][kTile];
#pragma unroll
    for (int v = 0; v < L; ++v) load_tile<C>(views_.at[v], base_[v] + i, values[v]);
    f(values, i, int64_t{1},
      [&](const C(&results)[kTile]) { store_tile<C>(views_.at[N - 1], base_[N - 1] + i, results); });
  }

  template <int K, class F>
  HALFTONE_DEVICE void take(int64_t i, int64_t step, F& f) const {
    int64_t at[N][K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const Offsets<N> offsets = offsets_at(places_, i + k * step);
#pragma unroll
      for (int v = 0; v < N; ++v) at[v][k] = base_[v] + offsets.at[v];
    }
    C values[L][K];
#pragma unroll
    for (int v = 0; v < L; ++v) load_at<C>(views_.at[v], at[v], values[v]);
    f(values, i, step, [&](const C(&results)[K]) { store_at<C>(views_.at[N - 1], at[N - 1], results); });
  }

  const Operands<N>& views_;
  const Places<N>& places_;
  bool is_tiled_;
  int64_t base_[N];
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace halftone::cuda
