#include "cuda/base/magnitude.h"
#include "cuda/base/map.h"
#include "cuda/convert/quantize.h"

namespace halftone::cuda {
namespace {

// Null data in `out` for the largest magnitude alone.
struct Quantization {
  Elements in;
  Elements out;
  const float* scale = nullptr;
  float* amax = nullptr;
  float largest = 0;
};

HALFTONE_DEVICE void count_tile(const float (&tile)[kTile], uint32_t* most) {
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    const uint32_t bits = magnitude_bits(tile[k]);
    if (bits > *most) *most = bits;
  }
}

// Thread t takes tile t, then the next ones in a grid-stride loop. Elements behind the end are 0.
HALFTONE_KERNEL quantize_kernel(Places<1> in_places, Places<1> out_places, Quantization of) {
  const float scale = of.scale == nullptr ? 1.0f : *of.scale;
  const int64_t tiles = (in_places.count + kTile - 1) / kTile;
  uint32_t most = 0;
  for (int64_t t = first_item(); t < tiles; t += item_step()) {
    float tile[kTile];
    load_some(in_places, of.in, t * kTile, tile);
    count_tile(tile, &most);
    if (of.out.data == nullptr) continue;
#pragma unroll
    for (int k = 0; k < kTile; ++k) tile[k] = saturated(tile[k] / scale, of.largest);
    store_some(out_places, of.out, t * kTile, tile);
  }
  raise(of.amax, most);
}

// One block; kThreads threads.
HALFTONE_KERNEL scale_kernel(Places<1> places, Elements amax, float largest, float* out) {
  uint32_t most = 0;
  for (int64_t i = threadIdx.x; i < places.count; i += kThreads) {
    const uint32_t bits = magnitude_bits(load<float>(amax, offsets_at(places, i).at[0]));
    if (bits < 0x7f800000 && bits > most) most = bits;
  }
  most = reduce_block(most, 0u, Most<uint32_t>());
  if (threadIdx.x == 0) *out = quantize_scale_of(most, largest);
}

float* number_in(const View& view) { return static_cast<float*>(view.data); }

Status run(Stream& stream, const View& in, const View& out, const Quantization& of) noexcept {
  if (Status status = clear_magnitude(stream, of.amax); !status.ok()) return status;
  const Places<1> places = places_of(in);
  const Places<1> out_places = out.data == nullptr ? places : places_of(out);
  const int64_t tiles = (places.count + kTile - 1) / kTile;
  return launch(stream, grid_for_items(device_of(stream), tiles), quantize_kernel, places, out_places, of);
}

}  // namespace

Status abs_max(Stream& stream, const View& in, const View& out) noexcept {
  return run(stream, in, {}, {.in = elements_of(in), .out = {}, .amax = number_in(out)});
}

Status quantize(Stream& stream, const View& in, const View& scale, const View& amax, const View& out) noexcept {
  return run(stream, in, out,
             {.in = elements_of(in),
              .out = elements_of(out),
              .scale = number_in(scale),
              .amax = number_in(amax),
              .largest = largest_of(out.dtype)});
}

Status quantize_scale(Stream& stream, const View& amax, double largest, const View& out) noexcept {
  return launch(stream, {.blocks = 1, .threads = kThreads}, scale_kernel, places_of(amax), elements_of(amax),
                static_cast<float>(largest), number_in(out));
}

}  // namespace halftone::cuda
