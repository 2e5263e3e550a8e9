// Reads and writes a slot's weights tile by tile as FP32, in any of three forms: an FP32 master with or without a
// 16-bit copy, split, or 16 bits alone. For kernel files that Highway compiles once per instruction set: include after
// hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_WEIGHT_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_WEIGHT_TILES_H
#undef HALFTONE_CPU_OPTIM_WEIGHT_TILES_H
#else
#define HALFTONE_CPU_OPTIM_WEIGHT_TILES_H
#endif

#include "backend/kernels/kernels.h"
#include "cpu/optim/copy_tiles.h"
#include "cpu/optim/gradient_tiles.h"
#include "cpu/optim/round_tiles.h"
#include "cpu/optim/rounding_words.h"
#include "cpu/optim/split_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// An FP32 master is its own tile; the other forms are widened into `tile`.
HWY_INLINE float* load_weights(const UpdateSlot& slot, int64_t begin, int64_t count, float* tile) {
  if (slot.master != nullptr) return slot.master + begin;
  if (slot.remainder != nullptr) {
    join_tile(static_cast<const uint16_t*>(slot.compute) + begin, slot.remainder + begin, count, tile);
  } else {
    load_tile(contiguous_from(slot.compute, slot.compute_dtype, begin), count, tile);
  }
  return tile;
}

// Stores the tile that load_weights returned. `key` and `block` select the random words of stochastic rounding;
// `non_temporal` writes the copy with non-temporal stores.
HWY_INLINE void store_weights(const float* tile, int64_t begin, int64_t count, PhiloxKey key, int64_t block,
                              bool non_temporal, const UpdateSlot& slot) {
  if (slot.compute == nullptr) return;
  if (slot.master != nullptr) {
    const Strided copy = contiguous_from(slot.compute, slot.compute_dtype, begin);
    non_temporal ? store_tile_non_temporal(tile, count, copy) : store_tile(tile, count, copy);
    return;
  }
  auto* weights = static_cast<uint16_t*>(slot.compute) + begin;
  if (slot.remainder != nullptr) return split_tile(tile, count, weights, slot.remainder + begin);
  alignas(64) uint16_t words[kBlockSize];
  draw_block(key, block, words);
  round_tile(tile, count, words, slot.compute_dtype, weights);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_WEIGHT_TILES_H
