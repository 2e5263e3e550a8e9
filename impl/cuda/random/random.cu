// Random tensors. Element i takes word i % 4 of Philox block i / 4 (a normal number takes the pair of words that
// contains it), so that every device draws the same numbers.
#include <cmath>

#include "backend/formula/box_muller.h"
#include "backend/formula/shuffle.h"
#include "core/philox.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/launch.h"
#include "cuda/base/map.h"

namespace halftone::cuda {
namespace {

static_assert(kTile % 4 == 0, "a tile takes whole blocks of words");

struct UniformNumbers {
  HALFTONE_DEVICE static void of_block(const PhiloxBlock& words, float (&out)[4]) {
    for (int k = 0; k < 4; ++k) out[k] = uniform01(words[k]);
  }
};

struct NormalNumbers {
  HALFTONE_DEVICE static void of_block(const PhiloxBlock& words, float (&out)[4]) {
    for (int pair = 0; pair < 2; ++pair) {
      const NormalPair numbers = box_muller(words[2 * pair], words[2 * pair + 1]);
      out[2 * pair] = numbers.first;
      out[2 * pair + 1] = numbers.second;
    }
  }
};

// Thread t draws tile t; out = shift + scale * standard number.
template <class Numbers, class C>
HALFTONE_KERNEL draw_kernel(Places<1> places, Elements out, PhiloxKey taken, C shift, C scale) {
  const PhiloxKey key = current_key(taken);
  for (int64_t begin = first_item() * kTile; begin < places.count; begin += item_step() * kTile) {
    C tile[kTile];
#pragma unroll
    for (int block = 0; block < kTile / 4; ++block) {
      float standard[4];
      Numbers::of_block(philox(key, static_cast<uint64_t>(begin / 4 + block)), standard);
#pragma unroll
      for (int k = 0; k < 4; ++k) tile[4 * block + k] = shift + scale * static_cast<C>(standard[k]);
    }
    store_some(places, out, begin, tile);
  }
}

template <class Numbers>
Status draw(Stream& stream, PhiloxKey key, double shift, double scale, const View& out) noexcept {
  const Places<1> places = places_of(out);
  const int64_t tiles = (places.count + kTile - 1) / kTile;
  return with_float_type(out.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), tiles), draw_kernel<Numbers, C>, places, elements_of(out),
                  key, static_cast<C>(shift), static_cast<C>(scale));
  });
}

Status uniform(Stream& stream, PhiloxKey key, double low, double high, const View& out) noexcept {
  return draw<UniformNumbers>(stream, key, low, high - low, out);
}

Status normal(Stream& stream, PhiloxKey key, double mean, double std, const View& out) noexcept {
  return draw<NormalNumbers>(stream, key, mean, std, out);
}

// Dropped elements are multiplied by 0, so that NaN stays NaN.
template <class C>
HALFTONE_KERNEL dropout_kernel(Places<2> places, Elements in, Elements out, PhiloxKey taken, uint32_t threshold,
                               C scale) {
  const PhiloxKey key = current_key(taken);
  const Places<1> of_out = places_of_view<0>(places);
  const Places<1> of_in = places_of_view<1>(places);
  for (int64_t begin = first_item() * kTile; begin < places.count; begin += item_step() * kTile) {
    C tile[kTile];
    load_some(of_in, in, begin, tile);
#pragma unroll
    for (int block = 0; block < kTile / 4; ++block) {
      const PhiloxBlock words = philox(key, static_cast<uint64_t>(begin / 4 + block));
#pragma unroll
      for (int k = 0; k < 4; ++k) tile[4 * block + k] *= (words[k] >> 8) >= threshold ? scale : C{0};
    }
    store_some(of_out, out, begin, tile);
  }
}

Status dropout(Stream& stream, const Dropout& dropout, const View& in, const View& out) noexcept {
  const Places<2> places = places_of(out, in);
  const auto threshold = static_cast<uint32_t>(std::ceil(dropout.p * 0x1p24));
  const int64_t tiles = (places.count + kTile - 1) / kTile;
  return with_float_type(out.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), tiles), dropout_kernel<C>, places, elements_of(in),
                  elements_of(out), dropout.key, threshold, static_cast<C>(dropout.scale));
  });
}

// One order for every device means one thread: each swap depends on those before it.
HALFTONE_KERNEL permutation_kernel(int64_t* order, int64_t count, PhiloxKey key) {
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) order[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) shuffle(order, count, current_key(key));
}

Status permutation(Stream& stream, PhiloxKey key, const View& out) noexcept {
  return launch(stream, grid_for_rows(out.numel() > 0 ? 1 : 0, kThreads), permutation_kernel,
                static_cast<int64_t*>(out.data), out.numel(), key);
}

}  // namespace

const RandomKernels kRandomKernels = {
    .uniform = uniform,
    .normal = normal,
    .dropout = dropout,
    .permutation = permutation,
};

}  // namespace halftone::cuda
