// The places of the elements of several views of one shape, for kernels that go over them in row-major order. A host
// function merges dimensions; the device divides an index by what is left of them. Pure functions, safe from any
// thread.
#pragma once

#include <cstdint>

#include "backend/view.h"
#include "core/host_device.h"
#include "core/shape.h"

namespace halftone::cuda {

template <int N>
struct Places {
  int rank = 0;
  int64_t count = 0;        // of elements
  bool is_dense = false;    // every view is contiguous and aligned to 16 bytes
  int64_t sizes[kMaxRank];  // of the merged dimensions
  int64_t strides[N][kMaxRank];
};

// Offsets in elements, one for each view.
template <int N>
struct Offsets {
  int64_t at[N];
};

namespace detail {

// True if the elements of `dim` follow those of the last merged dimension in every view.
template <int N>
bool merges(const Places<N>& places, const View* const (&views)[N], int dim) {
  const int last = places.rank - 1;
  for (int v = 0; v < N; ++v) {
    if (places.strides[v][last] != views[v]->strides[dim] * views[v]->shape[dim]) return false;
  }
  return true;
}

template <int N>
void add_dimension(Places<N>& places, const View* const (&views)[N], int dim) {
  const int64_t size = views[0]->shape[dim];
  if (size == 1) return;
  const bool is_merged = places.rank > 0 && merges(places, views, dim);
  if (!is_merged) places.sizes[places.rank++] = 1;
  const int last = places.rank - 1;
  places.sizes[last] *= size;
  for (int v = 0; v < N; ++v) places.strides[v][last] = views[v]->strides[dim];
}

inline bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

}  // namespace detail

// REQUIRES: the views have one shape.
template <class... Views>
Places<sizeof...(Views)> places_of(const Views&... each) {
  constexpr int kViews = sizeof...(Views);
  const View* const views[kViews] = {&each...};
  Places<kViews> places;
  places.count = views[0]->numel();
  for (int dim = 0; dim < views[0]->rank(); ++dim) detail::add_dimension(places, views, dim);
  places.is_dense = ((is_contiguous(each) && detail::is_aligned(each.data)) && ...);
  return places;
}

// The places in one of the views alone.
template <int view, int N>
HALFTONE_HOST_DEVICE inline Places<1> places_of_view(const Places<N>& places) {
  Places<1> one;
  one.rank = places.rank;
  one.count = places.count;
  one.is_dense = places.is_dense;
  for (int d = 0; d < places.rank; ++d) {
    one.sizes[d] = places.sizes[d];
    one.strides[0][d] = places.strides[view][d];
  }
  return one;
}

// The offsets of element `i` in row-major order. Divisions of 32 bits are several times faster on a GPU, and the
// outermost dimension needs none.
template <int N>
HALFTONE_HOST_DEVICE inline Offsets<N> offsets_at(const Places<N>& places, int64_t i) {
  Offsets<N> offsets = {};
  const bool is_small = places.count <= INT32_MAX;
  for (int d = places.rank - 1; d >= 0; --d) {
    const int64_t size = places.sizes[d];
    int64_t rest = 0;
    if (d > 0) rest = is_small ? static_cast<uint32_t>(i) / static_cast<uint32_t>(size) : i / size;
    const int64_t index = i - rest * size;
    for (int v = 0; v < N; ++v) offsets.at[v] += index * places.strides[v][d];
    i = rest;
  }
  return offsets;
}

}  // namespace halftone::cuda
