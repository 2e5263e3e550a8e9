// Reads and writes moments of any storage dtype tile by tile as FP32. For kernel files that Highway compiles once per
// instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_MOMENT_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_MOMENT_TILES_H
#undef HALFTONE_CPU_OPTIM_MOMENT_TILES_H
#else
#define HALFTONE_CPU_OPTIM_MOMENT_TILES_H
#endif

#include <cstdint>
#include <cstring>

#include "backend/formula/moment_rounding.h"
#include "backend/kernels/optim.h"
#include "cpu/optim/gradient_tiles.h"
#include "cpu/optim/moment_codes.h"
#include "cpu/optim/round_tiles.h"
#include "cpu/optim/rounding_words.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Elements [begin, begin + count) as FP32. FP32 memory is its own tile; other dtypes are widened into `tile`. Null if
// the optimizer has no such moment. REQUIRES: begin is a multiple of kBlockSize, count <= kBlockSize.
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

// The random words for the moments of a block. The first half is repeated at the end, so that first()[i] is the word of
// element first_moment_word(i), and third()[i] that of element third_moment_word(i).
struct MomentWords {
  alignas(64) uint16_t words[kBlockSize + kBlockSize / 2];

  HWY_INLINE void draw(PhiloxKey key, int64_t block) {
    draw_block(key, block, words);
    std::memcpy(words + kBlockSize, words, kBlockSize / 2 * sizeof(uint16_t));
  }
  const uint16_t* first() const { return words + kBlockSize / 2; }
  const uint16_t* second() const { return words; }
  const uint16_t* third() const { return words + kBlockSize / 4; }
};

// Stores the tile that load_moment returned, rounded stochastically by `words`, or to nearest if `words` is null; codes
// need words. With a scale of 0 or NaN the codes have no meaning and are set to 0.
HWY_INLINE void store_moment(const float* tile, int64_t begin, int64_t count, const uint16_t* words,
                             const MomentSlot& moment) {
  if (moment.data == nullptr || moment.dtype == DType::kF32) return;
  if (moment.scales == nullptr) {
    if (words == nullptr) return store_tile(tile, count, contiguous_from(moment.data, moment.dtype, begin));
    return round_tile(tile, count, words, moment.dtype, static_cast<uint16_t*>(moment.data) + begin);
  }
  auto* codes = static_cast<uint8_t*>(moment.data) + begin;
  const float scale = scale_of(tile, count);
  moment.scales[begin / kBlockSize] = scale;
  if (!(scale > 0.0f)) {
    std::memset(codes, 0, static_cast<size_t>(count));
  } else if (moment.dtype == DType::kI8) {
    encode_tile(tile, scale, count, words, reinterpret_cast<int8_t*>(codes));
  } else {
    encode_tile(tile, scale, count, words, codes);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_MOMENT_TILES_H
