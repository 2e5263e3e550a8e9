#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/statistics/summarize.cpp"
#include <algorithm>
#include <atomic>
#include <functional>

#include "cpu/device.h"
#include "cpu/optim/chunk_loop.h"
#include "cpu/statistics/entries.h"
#include "cpu/statistics/shared_count.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/optim/gradient_tiles.h"
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Replaces a shared value by another that is better.
template <class Better>
void improve_shared(uint32_t& shared, uint32_t value, Better is_better) {
  const std::atomic_ref ref(shared);
  uint32_t known = ref.load(std::memory_order_relaxed);
  while (is_better(value, known) && !ref.compare_exchange_weak(known, value, std::memory_order_relaxed)) continue;
}

// The summary of a chunk of at most kChunkSize elements, by one thread.
class ChunkSummary {
 public:
  // Bin 0 counts zeros too, and a further bin Inf and NaN. The compiler makes vectors of the second loop.
  void add(const float* HWY_RESTRICT tile, int64_t count) {
    for (int64_t i = 0; i < count; ++i) ++exponents_[magnitude_of(tile[i]) >> 23];
    Extremes<uint32_t> extremes = extremes_;
    for (int64_t i = 0; i < count; ++i) extremes.add(magnitude_of(tile[i]));
    extremes_ = extremes;
  }

  // Chunks may add to the shared summary in any order.
  void add_to(TensorSummary& all) const {
    add_shared(all.exponents[0], exponents_[0] - int64_t{extremes_.zeros});
    for (int e = 1; e < kExponentBins; ++e) add_shared(all.exponents[e], exponents_[e]);
    add_shared(all.extremes.zeros, int64_t{extremes_.zeros});
    add_shared(all.extremes.infinities, int64_t{extremes_.infinities});
    add_shared(all.extremes.nans, int64_t{extremes_.nans});
    improve_shared(all.extremes.largest, extremes_.largest, std::greater<>());
    improve_shared(all.extremes.least, extremes_.least, std::less<>());
  }

 private:
  int64_t exponents_[kExponentBins + 1] = {};
  Extremes<uint32_t> extremes_;
};

}  // namespace

void summarize_view(ThreadPool& pool, const View& in, TensorSummary* summary) {
  const Layout layout(in);
  const int64_t elements = in.numel();
  pool.parallel_for((elements + kChunkSize - 1) / kChunkSize, [&](int64_t chunk, int) {
    TileReader<float> reader(layout);
    ChunkSummary own;
    const int64_t end = std::min((chunk + 1) * kChunkSize, elements);
    for (int64_t begin = chunk * kChunkSize; begin < end; begin += kTileSize<float>) {
      const int64_t count = std::min(kTileSize<float>, end - begin);
      own.add(reader.read(begin, count), count);
    }
    own.add_to(*summary);
  });
}

void summarize_list(ThreadPool& pool, const MultiTensor<GradSlot>& gradients, TensorSummary* summary) {
  for_each_chunk(pool, gradients, [&](const GradSlot& slot, const Chunk& chunk, int64_t) {
    ChunkSummary own;
    for_each_gradient_tile(slot.grad, slot.grad_dtype, chunk,
                           [&](const float* tile, int64_t, int64_t count) { own.add(tile, count); });
    own.add_to(*summary);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(summarize_view);
HWY_EXPORT(summarize_list);

Status summarize(Stream& stream, const View& in, TensorSummary* summary) noexcept {
  HWY_DYNAMIC_DISPATCH(summarize_view)(pool_of(stream), in, summary);
  return {};
}

Status summarize_gradients(Stream& stream, const MultiTensor<GradSlot>& gradients, const int32_t* condition,
                           TensorSummary* summary) noexcept {
  if (*condition != 0) HWY_DYNAMIC_DISPATCH(summarize_list)(pool_of(stream), gradients, summary);
  return {};
}

}  // namespace halftone::cpu
#endif
