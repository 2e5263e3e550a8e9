#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/random/draw.cpp"
// Random tensors. Element i takes word i % 4 of Philox block i / 4 (a normal number takes the pair of words that
// contains it), so threads draw their ranges independently. The loops are plain C++, which the compiler vectorises for
// each instruction set; without contraction every set gives the same bits.
#include <algorithm>

#include "backend/formula/box_muller.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"
#include "cpu/random/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/random/words.h"
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kDrawSize = kTileSize<float>;  // the most elements drawn at once
static_assert(kChunkSize % kDrawSize == 0 && kTileSize<double> % kWordBlock == 0,
              "ranges and tiles begin on whole blocks of words");

struct Uniform {
  static void draw(const uint32_t* HWY_RESTRICT words, int64_t count, float* HWY_RESTRICT out) {
    for (int64_t i = 0; i < count; ++i) out[i] = uniform01(words[i]);
  }
};

// If `count` is odd, the second number of the last pair is drawn too.
struct Normal {
  static void draw(const uint32_t* HWY_RESTRICT words, int64_t count, float* HWY_RESTRICT out) {
    const int64_t pairs = (count + 1) / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      const NormalPair pair = box_muller(words[2 * i], words[2 * i + 1]);
      out[2 * i] = pair.first;
      out[2 * i + 1] = pair.second;
    }
  }
};

template <class Distribution, class C>
void draw_range(PhiloxKey key, C shift, C scale, const Layout& layout, int64_t begin, int64_t end) {
  alignas(64) uint32_t words[kDrawSize];
  alignas(64) float standard[kDrawSize];
  TileWriter<C> writer(layout);
  for (int64_t i = begin; i < end; i += kTileSize<C>) {
    const int64_t count = std::min(kTileSize<C>, end - i);
    draw_words(key, i, count, words);
    Distribution::draw(words, count, standard);
    C* HWY_RESTRICT tile = writer.tile(i, count);
    for (int64_t j = 0; j < count; ++j) tile[j] = shift + scale * static_cast<C>(standard[j]);
    writer.commit(i, count);
  }
}

// out = shift + scale * standard number, in double for f64, else in FP32.
template <class Distribution>
void draw(ThreadPool& pool, PhiloxKey key, double shift, double scale, const View& out) {
  const Layout layout(out);
  for_each_range(pool, out.numel(), [&](int64_t begin, int64_t end) {
    if (out.dtype == DType::kF64) return draw_range<Distribution>(key, shift, scale, layout, begin, end);
    draw_range<Distribution>(key, static_cast<float>(shift), static_cast<float>(scale), layout, begin, end);
  });
}

}  // namespace

void draw_uniform(ThreadPool& pool, PhiloxKey key, double low, double high, const View& out) {
  draw<Uniform>(pool, key, low, high - low, out);
}

void draw_normal(ThreadPool& pool, PhiloxKey key, double mean, double std, const View& out) {
  draw<Normal>(pool, key, mean, std, out);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {
namespace {

HWY_EXPORT(draw_uniform);
HWY_EXPORT(draw_normal);

}  // namespace

Status uniform(Stream& stream, PhiloxKey key, double low, double high, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(draw_uniform)(pool_of(stream), key, low, high, out);
  return {};
}

Status normal(Stream& stream, PhiloxKey key, double mean, double std, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(draw_normal)(pool_of(stream), key, mean, std, out);
  return {};
}

const RandomKernels kRandomKernels = {HALFTONE_RANDOM_ENTRIES(HALFTONE_ENTRY_ROW)};

}  // namespace halftone::cpu
#endif
