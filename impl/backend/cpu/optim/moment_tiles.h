// Moments read and written tile by tile as FP32, whatever they are stored in. For kernel files that Highway compiles
// once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_MOMENT_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_MOMENT_TILES_H
#undef HALFTONE_CPU_OPTIM_MOMENT_TILES_H
#else
#define HALFTONE_CPU_OPTIM_MOMENT_TILES_H
#endif

#include <cstdint>
#include <cstring>

#include "backend/cpu/optim/gradient_tiles.h"
#include "backend/cpu/optim/moment_codes.h"
#include "backend/cpu/optim/rounding_words.h"
#include "backend/kernels/optim.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Elements [begin, begin + count) as FP32: FP32 memory is its own tile, everything else is widened into `tile`; null
// where the optimizer lacks the moment. REQUIRES: begin is a multiple of kBlockSize, count at most that.
HWY_INLINE float* load_moment(const MomentSlot& moment, int64_t begin, int64_t count, float* tile) {
  if (moment.data == nullptr) return nullptr;
  switch (moment.dtype) {
    case DType::kF32:
      return static_cast<float*>(moment.data) + begin;
    case DType::kI8:
      decode_tile(static_cast<const int8_t*>(moment.data) + begin, moment.scales[begin / kBlockSize], count, tile);
      return tile;
    case DType::kU8:
      decode_tile(static_cast<const uint8_t*>(moment.data) + begin, moment.scales[begin / kBlockSize], count, tile);
      return tile;
    default:
      load_tile(contiguous_from(moment.data, moment.dtype, begin), count, tile);
      return tile;
  }
}

// Takes back what load_moment gave. `key` and `block` say where stochastic rounding draws; `block` counts from the
// parameter's first element, not the slot's. Codes below a scale of 0 or NaN say nothing and become 0.
HWY_INLINE void store_moment(const float* tile, int64_t begin, int64_t count, PhiloxKey key, int64_t block,
                             const MomentSlot& moment) {
  if (moment.data == nullptr || moment.dtype == DType::kF32) return;
  if (moment.scales == nullptr) return store_tile(tile, count, contiguous_from(moment.data, moment.dtype, begin));
  auto* codes = static_cast<uint8_t*>(moment.data) + begin;
  const float scale = scale_of(tile, count);
  moment.scales[begin / kBlockSize] = scale;
  if (!(scale > 0.0f)) {
    std::memset(codes, 0, static_cast<size_t>(count));
  } else if (moment.dtype == DType::kI8) {
    encode_tile(tile, scale, count, reinterpret_cast<int8_t*>(codes));
  } else {
    alignas(64) uint16_t words[kBlockSize];
    draw_block(key, block, words);
    encode_tile(tile, scale, count, words, codes);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_MOMENT_TILES_H
