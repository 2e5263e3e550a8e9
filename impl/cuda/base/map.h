// Kernels that compute each element of a result from one element of each operand: map(stream, f, out, in...), where f
// is a struct with a device function C operator()(C...) and C the compute type; and those that compute each element
// from its index: generate(stream, f, out), where f has C operator()(int64_t). Dense views move 16 bytes at a time.
#pragma once

#include <utility>

#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/base/places.h"

namespace halftone::cuda {

template <int N>
struct Operands {
  Elements at[N];
};

inline Elements elements_of(const View& view) { return {view.data, view.dtype}; }

// Elements [begin, begin + kTile), as many as there are, whether memory is dense or not; the others become 0.
template <class C>
HALFTONE_DEVICE inline void load_some(const Places<1>& places, const Elements& from, int64_t begin, C (&tile)[kTile]) {
  if (places.is_dense && begin + kTile <= places.count) return load_tile(from, begin, tile);
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    tile[k] = begin + k < places.count ? load<C>(from, offsets_at(places, begin + k).at[0]) : C{};
  }
}
template <class C>
HALFTONE_DEVICE inline void store_some(const Places<1>& places, const Elements& to, int64_t begin,
                                       const C (&tile)[kTile]) {
  if (places.is_dense && begin + kTile <= places.count) return store_tile(to, begin, tile);
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    if (begin + k < places.count) store<C>(to, offsets_at(places, begin + k).at[0], tile[k]);
  }
}

namespace detail {

template <class C, class F, int... v>
HALFTONE_DEVICE void map_element(const Places<sizeof...(v) + 1>& places, const Operands<sizeof...(v)>& in,
                                 const Elements& out, const F& f, int64_t i, std::integer_sequence<int, v...>) {
  const auto offsets = offsets_at(places, i);
  store<C>(out, offsets.at[0], f(load<C>(in.at[v], offsets.at[v + 1])...));
}

template <class C, class F, int... v>
HALFTONE_DEVICE void map_tile(const Operands<sizeof...(v)>& in, const Elements& out, const F& f, int64_t begin,
                              std::integer_sequence<int, v...>) {
  C tiles[sizeof...(v)][kTile];
  C results[kTile];
  (load_tile<C>(in.at[v], begin, tiles[v]), ...);
#pragma unroll
  for (int k = 0; k < kTile; ++k) results[k] = f(tiles[v][k]...);
  store_tile<C>(out, begin, results);
}

// Thread t takes tile t, or element t where memory is not dense; then the next ones in a grid-stride loop.
template <class C, class F, int N>
HALFTONE_KERNEL map_kernel(Places<N + 1> places, Operands<N> in, Elements out, F f) {
  constexpr std::make_integer_sequence<int, N> kOperands;
  const int64_t tiled = places.is_dense ? places.count / kTile * kTile : 0;
  for (int64_t t = first_item(); t < tiled / kTile; t += item_step()) map_tile<C>(in, out, f, t * kTile, kOperands);
  for (int64_t i = tiled + first_item(); i < places.count; i += item_step()) {
    map_element<C>(places, in, out, f, i, kOperands);
  }
}

template <class C, class F>
HALFTONE_KERNEL generate_kernel(Places<1> places, Elements out, F f) {
  const int64_t tiled = places.is_dense ? places.count / kTile * kTile : 0;
  for (int64_t t = first_item(); t < tiled / kTile; t += item_step()) {
    C results[kTile];
#pragma unroll
    for (int k = 0; k < kTile; ++k) results[k] = f(t * kTile + k);
    store_tile<C>(out, t * kTile, results);
  }
  for (int64_t i = tiled + first_item(); i < places.count; i += item_step()) {
    store<C>(out, offsets_at(places, i).at[0], f(i));
  }
}

// The threads that go over all elements: one for each tile where memory is dense.
template <int N>
int64_t items_of(const Places<N>& places) {
  return places.is_dense ? (places.count + kTile - 1) / kTile : places.count;
}

}  // namespace detail

// out[i] = f(i), computed in C; i counts in row-major order.
template <class C, class F>
Status generate(Stream& stream, const F& f, const View& out) noexcept {
  const Places<1> places = places_of(out);
  return launch(stream, grid_for_items(device_of(stream), detail::items_of(places)), detail::generate_kernel<C, F>,
                places, elements_of(out), f);
}

// out = f(in...), computed in C. The views have one shape; 0 strides of operands repeat elements.
template <class C, class F, class... Views>
Status map(Stream& stream, const F& f, const View& out, const Views&... in) noexcept {
  constexpr int kOperands = sizeof...(Views);
  const Places<kOperands + 1> places = places_of(out, in...);
  return launch(stream, grid_for_items(device_of(stream), detail::items_of(places)),
                detail::map_kernel<C, F, kOperands>, places, Operands<kOperands>{{elements_of(in)...}},
                elements_of(out), f);
}

}  // namespace halftone::cuda
