// The random words for stochastic rounding. For kernel files that Highway compiles once per instruction set: include
// after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_ROUNDING_WORDS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_ROUNDING_WORDS_H
#undef HALFTONE_CPU_OPTIM_ROUNDING_WORDS_H
#else
#define HALFTONE_CPU_OPTIM_ROUNDING_WORDS_H
#endif

#include <cstdint>

#include "backend/chunks.h"
#include "core/philox.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// Draws one 16-bit word for each element of a block: element i gets the lower (i even) or upper half of word i / 2 of
// the Philox sequence. `words` is aligned to 64 bytes.
inline void draw_block(PhiloxKey key, int64_t block, uint16_t* HWY_RESTRICT words) {
  constexpr int kCounters = kBlockSize / 8;
  for (int i = 0; i < kCounters; ++i) {
    const PhiloxBlock drawn = philox(key, static_cast<uint64_t>(block) * kCounters + static_cast<uint64_t>(i));
    for (int j = 0; j < 4; ++j) {
      words[8 * i + 2 * j] = static_cast<uint16_t>(drawn[static_cast<size_t>(j)]);
      words[8 * i + 2 * j + 1] = static_cast<uint16_t>(drawn[static_cast<size_t>(j)] >> 16);
    }
  }
}

#else

// The four Philox words of as many counters as there are lanes, each in the lower half of its lane. The upper halves
// hold any value: multiplication reads only the lower ones.
template <class D>
struct PhiloxLanes {
  hwy::HWY_NAMESPACE::Vec<D> x0, x1, x2, x3;
};

template <class D>
HWY_INLINE void philox_round(D d, uint32_t key0, uint32_t key1, PhiloxLanes<D>& x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Repartition<uint32_t, D> d32;
  const auto product0 = hn::MulEven(hn::BitCast(d32, x.x0), hn::Set(d32, 0xD2511F53));
  const auto product1 = hn::MulEven(hn::BitCast(d32, x.x2), hn::Set(d32, 0xCD9E8D57));
  x.x0 = hn::Xor3(hn::ShiftRight<32>(product1), x.x1, hn::Set(d, key0));
  x.x2 = hn::Xor3(hn::ShiftRight<32>(product0), x.x3, hn::Set(d, key1));
  x.x1 = product1;
  x.x3 = product0;
}

// Even lanes hold the lower half of the counters and odd lanes the upper half, so interleaving restores their order.
template <class D>
HWY_INLINE void store_philox(D d, const PhiloxLanes<D>& x, uint16_t* HWY_RESTRICT words) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Repartition<uint16_t, D> d16;
  const auto low_half = hn::Set(d, 0xffffffff);
  const auto lower = hn::Or(hn::And(x.x0, low_half), hn::ShiftLeft<32>(x.x1));
  const auto upper = hn::Or(hn::And(x.x2, low_half), hn::ShiftLeft<32>(x.x3));
  hn::Store(hn::BitCast(d16, hn::InterleaveLower(d, lower, upper)), d16, words);
  hn::Store(hn::BitCast(d16, hn::InterleaveUpper(d, lower, upper)), d16, words + hn::Lanes(d16));
}

// Draws one 16-bit word for each element of a block: element i gets the lower (i even) or upper half of word i / 2 of
// the Philox sequence. `words` is aligned to 64 bytes. Four vectors go through the rounds together, since one alone
// would wait for its multiplications.
inline void draw_block(PhiloxKey key, int64_t block, uint16_t* HWY_RESTRICT words) {
  namespace hn = hwy::HWY_NAMESPACE;
  using D = hn::ScalableTag<uint64_t>;
  const D d;
  constexpr int64_t kCounters = kBlockSize / 8;
  constexpr int64_t kSideBySide = 4;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN uint64_t order[hn::MaxLanes(d)];
  for (int64_t i = 0; i < lanes; ++i) order[i] = static_cast<uint64_t>(i / 2 + i % 2 * (lanes / 2));
  const auto start = [&](int64_t first) HWY_ATTR -> PhiloxLanes<D> {
    const auto counters = hn::Add(hn::Load(d, order), hn::Set(d, static_cast<uint64_t>(block * kCounters + first)));
    return {counters, hn::ShiftRight<32>(counters), hn::Set(d, key.sequence), hn::Set(d, key.sequence >> 32)};
  };
  for (int64_t i = 0; i < kCounters; i += kSideBySide * lanes) {
    PhiloxLanes<D> x[kSideBySide];
    for (int w = 0; w < kSideBySide; ++w) x[w] = start(i + w * lanes);
    uint32_t key0 = static_cast<uint32_t>(key.seed);
    uint32_t key1 = static_cast<uint32_t>(key.seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
      for (int w = 0; w < kSideBySide; ++w) philox_round(d, key0, key1, x[w]);
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    for (int w = 0; w < kSideBySide; ++w) store_philox(d, x[w], words + 8 * (i + w * lanes));
  }
}

#endif

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_ROUNDING_WORDS_H
