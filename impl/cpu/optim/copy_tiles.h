// Writes the 16-bit copy of weights tile by tile during an update pass; nothing reads the copy before the pass ends.
// For kernel files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_COPY_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_COPY_TILES_H
#undef HALFTONE_CPU_OPTIM_COPY_TILES_H
#else
#define HALFTONE_CPU_OPTIM_COPY_TILES_H
#endif

#include <cstdint>

#include "backend/chunks.h"
#include "cpu/simd/tiles.h"
#include "cpu/simd/vectors.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// A pass over this many elements moves more data than caches hold, so the copy would leave the caches before it is
// read. Non-temporal stores bypass the caches and save reading the lines first.
inline constexpr int64_t kNonTemporalElements = int64_t{1} << 22;

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void store_block_as_bf16_non_temporal(const float* tile, uint16_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> df;
  const hn::Repartition<uint16_t, decltype(df)> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t i = 0; i < kBlockSize; i += 2 * lanes) {
    hn::Stream(narrow_pair(df, hn::LoadU(df, tile + i), hn::LoadU(df, tile + i + lanes)), d16, out + i);
  }
}
#endif

// As store_tile, but with non-temporal stores if `out` is a whole block of 16-bit elements that begins at a cache line.
// The thread must call hwy::FlushStream before other threads read `out`.
inline void store_tile_non_temporal(const float* tile, int64_t count, const Strided& out) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(out.data) % 64 == 0;
  if (count != kBlockSize || size_of(out.dtype) != 2 || !is_aligned) return store_tile(tile, count, out);
  auto* to = reinterpret_cast<uint16_t*>(out.data);
#if HWY_TARGET != HWY_SCALAR
  if (out.dtype == DType::kBF16) return store_block_as_bf16_non_temporal(tile, to);
#endif
  alignas(64) uint16_t words[kBlockSize];
  store_tile(tile, count, {reinterpret_cast<std::byte*>(words), out.dtype, 1});
  const hn::ScalableTag<uint16_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < kBlockSize; i += lanes) hn::Stream(hn::Load(d, words + i), d, to + i);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_COPY_TILES_H
