#include "cuda/base/block.h"
#include "cuda/base/places.h"
#include "cuda/optim/tile.h"
#include "cuda/statistics/entries.h"
#include "cuda/statistics/shared_count.h"

namespace halftone::cuda {
namespace {

// A further bin collects Inf and NaN and is discarded. Each warp has its own bins: most tensors have few different
// exponents.
constexpr int kBins = kExponentBins + 1;
using Bins = unsigned[kWarpsPerBlock][kBins];

HALFTONE_DEVICE void clear(Bins& bins) {
  for (int i = static_cast<int>(threadIdx.x); i < kWarpsPerBlock * kBins; i += kThreads) bins[i / kBins][i % kBins] = 0;
  __syncthreads();
}

HALFTONE_DEVICE void add(float value, Bins& bins, Extremes<unsigned>& extremes) {
  const uint32_t magnitude = magnitude_of(value);
  extremes.add(magnitude);
  if (magnitude != 0) atomicAdd(&bins[warp_of_thread()][magnitude >> 23], 1u);
}

struct Largest {
  HALFTONE_DEVICE uint32_t operator()(uint32_t a, uint32_t b) const { return a < b ? b : a; }
};
struct Least {
  HALFTONE_DEVICE uint32_t operator()(uint32_t a, uint32_t b) const { return a < b ? a : b; }
};

HALFTONE_DEVICE void add_extremes(const Extremes<unsigned>& own, Extremes<int64_t>& all) {
  const unsigned zeros = reduce_warp(own.zeros, Sum<unsigned>());
  const unsigned infinities = reduce_warp(own.infinities, Sum<unsigned>());
  const unsigned nans = reduce_warp(own.nans, Sum<unsigned>());
  const uint32_t largest = reduce_warp(own.largest, Largest());
  const uint32_t least = reduce_warp(own.least, Least());
  if (lane_of_thread() != 0) return;
  add_shared(all.zeros, zeros);
  add_shared(all.infinities, infinities);
  add_shared(all.nans, nans);
  atomicMax(&all.largest, largest);
  atomicMin(&all.least, least);
}

HALFTONE_DEVICE void add_block(const Bins& bins, const Extremes<unsigned>& extremes, TensorSummary& all) {
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < kExponentBins; e += kThreads) {
    unsigned sum = 0;
    for (int warp = 0; warp < kWarpsPerBlock; ++warp) sum += bins[warp][e];
    add_shared(all.exponents[e], sum);
  }
  add_extremes(extremes, all.extremes);
}

// A thread takes tiles while the elements are dense, and single elements otherwise and behind the last tile.
HALFTONE_KERNEL summarize_view(Places<1> places, Elements in, TensorSummary* summary) {
  __shared__ Bins bins;
  clear(bins);
  Extremes<unsigned> extremes;
  const int64_t tiles = places.is_dense ? places.count / kTile : 0;
  for (int64_t i = first_item(); i < tiles; i += item_step()) {
    float tile[kTile];
    load_tile(in, i * kTile, tile);
#pragma unroll
    for (int k = 0; k < kTile; ++k) add(tile[k], bins, extremes);
  }
  for (int64_t i = tiles * kTile + first_item(); i < places.count; i += item_step())
    add(load<float>(in, offsets_at(places, i).at[0]), bins, extremes);
  add_block(bins, extremes, *summary);
}

HALFTONE_KERNEL summarize_list(MultiTensor<GradSlot> gradients, const int32_t* condition, TensorSummary* summary) {
  __shared__ Bins bins;
  if (*condition == 0) return;
  clear(bins);
  Extremes<unsigned> extremes;
  for_each_chunk_part(gradients, [&](const Chunk& chunk, int64_t first, int64_t last) {
    const GradSlot& slot = gradients.slots[chunk.slot];
    for_each_tile(chunk, first, last, [&](const Part& part) {
      float values[kTile];
      load_part(slot.grad, slot.grad_dtype, part, values);
#pragma unroll
      for (int k = 0; k < kTile; ++k) {
        if (k < part.count) add(values[k], bins, extremes);
      }
    });
  });
  add_block(bins, extremes, *summary);
}

}  // namespace

Status summarize(Stream& stream, const View& in, TensorSummary* summary) noexcept {
  const Places<1> places = places_of(in);
  return launch(stream, grid_for_items(device_of(stream), places.count), summarize_view, places,
                Elements{in.data, in.dtype}, summary);
}

Status summarize_gradients(Stream& stream, const MultiTensor<GradSlot>& gradients, const int32_t* condition,
                           TensorSummary* summary) noexcept {
  return launch(stream, grid_for_parts(gradients), summarize_list, gradients, condition, summary);
}

}  // namespace halftone::cuda
