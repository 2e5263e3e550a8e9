#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/statistics/summarize_update.cpp"
#include <algorithm>

#include "cpu/device.h"
#include "cpu/statistics/entries.h"
#include "cpu/statistics/shared_count.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Enough elements for a thread to count in its own memory.
constexpr int64_t kPartSize = int64_t{1} << 15;

void add_counts(const int64_t (&counts)[kUpdateKinds], UpdateSummary& all) {
  for (int d = 0; d < kRatioBins; ++d) add_shared(all.ratios[d], counts[d]);
  add_shared(all.lost, counts[kLostUpdate]);
  add_shared(all.still, counts[kStillWeight]);
  add_shared(all.not_finite, counts[kNotFiniteUpdate]);
}

}  // namespace

void summarize_updates(ThreadPool& pool, const View& before, const View& after, const View& gradient,
                       UpdateSummary* summary) {
  const Layout befores(before);
  const Layout afters(after);
  const Layout gradients(gradient);
  const int64_t elements = before.numel();
  pool.parallel_for((elements + kPartSize - 1) / kPartSize, [&](int64_t part, int) {
    TileReader<float> from(befores);
    TileReader<float> to(afters);
    TileReader<float> slope(gradients);
    int64_t counts[kUpdateKinds] = {};
    const int64_t end = std::min((part + 1) * kPartSize, elements);
    for (int64_t begin = part * kPartSize; begin < end; begin += kTileSize<float>) {
      const int64_t count = std::min(kTileSize<float>, end - begin);
      const float* old_weights = from.read(begin, count);
      const float* new_weights = to.read(begin, count);
      const float* slopes = slope.read(begin, count);
      for (int64_t i = 0; i < count; ++i) ++counts[update_kind(old_weights[i], new_weights[i], slopes[i])];
    }
    add_counts(counts, *summary);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(summarize_updates);

Status summarize_update(Stream& stream, const View& before, const View& after, const View& gradient,
                        UpdateSummary* summary) noexcept {
  HWY_DYNAMIC_DISPATCH(summarize_updates)(pool_of(stream), before, after, gradient, summary);
  return {};
}

}  // namespace halftone::cpu
#endif
