// A lane's part of a slot's weights as FP32, in any of three forms: an FP32 master with or without a 16-bit copy,
// split, or 16 bits alone. Device code.
#pragma once

#include "backend/formula/split_master.h"
#include "cuda/optim/moments.h"

namespace halftone::cuda {

HALFTONE_DEVICE inline void load_weights(const UpdateSlot& slot, const Part& part, float (&values)[kTile]) {
  if (slot.master != nullptr) return load_raw<float>(slot.master, part, values);
  if (slot.remainder == nullptr) return load_part(slot.compute, slot.compute_dtype, part, values);
  uint16_t high[kTile];
  int16_t remainder[kTile];
  load_raw(static_cast<const uint16_t*>(slot.compute), part, high);
  load_raw<int16_t>(slot.remainder, part, remainder);
#pragma unroll
  for (int k = 0; k < kTile; ++k) values[k] = join_split(high[k], remainder[k]);
}

// One weight.
HALFTONE_DEVICE inline float weight_at(const UpdateSlot& slot, int64_t i) {
  if (slot.master != nullptr) return slot.master[i];
  if (slot.remainder != nullptr) return join_split(static_cast<const uint16_t*>(slot.compute)[i], slot.remainder[i]);
  return load<float>({slot.compute, slot.compute_dtype}, i);
}

HALFTONE_DEVICE inline void store_split(const UpdateSlot& slot, const Part& part, const float (&values)[kTile]) {
  uint16_t high[kTile];
  int16_t remainder[kTile];
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    high[k] = split_high(values[k]);
    remainder[k] = split_remainder(values[k]);
  }
  store_raw(static_cast<uint16_t*>(slot.compute), part, high);
  store_raw(slot.remainder, part, remainder);
}

// `key` selects the random words of weights that are 16 bits alone.
HALFTONE_DEVICE inline void store_weights(const UpdateSlot& slot, const Part& part, const float (&values)[kTile],
                                          PhiloxKey key) {
  if (slot.master != nullptr) {
    store_raw(slot.master, part, values);
    if (slot.compute != nullptr) store_part(slot.compute, slot.compute_dtype, part, values);
  } else if (slot.remainder != nullptr) {
    store_split(slot, part, values);
  } else {
    const Words words = draw_words(key, slot.first_block + part.tile_begin / kBlockSize);
    store_rounded(part, values, words, slot.compute_dtype, slot.compute);
  }
}

}  // namespace halftone::cuda
