// A lane's part of a moment, in any storage, as FP32. All lanes of a warp call these functions. Device code.
#pragma once

#include <bit>

#include "backend/formula/block_code.h"
#include "backend/formula/stochastic_rounding.h"
#include "cuda/base/block.h"
#include "cuda/optim/words.h"

namespace halftone::cuda {

// Leaves `values` as they are if the optimizer has no such moment.
HALFTONE_DEVICE inline void load_moment(const MomentSlot& moment, const Part& part, float (&values)[kTile]) {
  if (moment.data == nullptr) return;
  if (moment.dtype == DType::kF32) return load_raw(static_cast<const float*>(moment.data), part, values);
  if (moment.scales == nullptr) return load_part(moment.data, moment.dtype, part, values);
  const float scale = moment.scales[part.tile_begin / kBlockSize];
  if (moment.dtype == DType::kI8) {
    int8_t codes[kTile];
    load_raw(static_cast<const int8_t*>(moment.data), part, codes);
#pragma unroll
    for (int k = 0; k < kTile; ++k) values[k] = decode_signed(codes[k], scale);
  } else {
    uint8_t codes[kTile];
    load_raw(static_cast<const uint8_t*>(moment.data), part, codes);
#pragma unroll
    for (int k = 0; k < kTile; ++k) values[k] = decode_unsigned(codes[k], scale);
  }
}

struct LargestBits {
  HALFTONE_DEVICE uint32_t operator()(uint32_t a, uint32_t b) const { return a > b ? a : b; }
};

// The scale of the tile's codes.
HALFTONE_DEVICE inline float scale_of_tile(const Part& part, const float (&values)[kTile]) {
  uint32_t largest = 0;
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[k]) & 0x7fffffff;
    if (k < part.count && magnitude > largest) largest = magnitude;
  }
  return block_scale(reduce_warp(largest, LargestBits()));
}

// With a scale of 0 or NaN the codes have no meaning and are set to 0.
HALFTONE_DEVICE inline void store_codes(const Part& part, const float (&values)[kTile], const Words& words,
                                        const MomentSlot& moment) {
  const float scale = scale_of_tile(part, values);
  if (lane_of_thread() == 0) moment.scales[part.tile_begin / kBlockSize] = scale;
  const bool has_codes = scale > 0.0f;
  if (moment.dtype == DType::kI8) {
    int8_t codes[kTile];
#pragma unroll
    for (int k = 0; k < kTile; ++k) codes[k] = has_codes ? encode_signed(values[k], scale, words.of(k)) : int8_t{0};
    store_raw(static_cast<int8_t*>(moment.data), part, codes);
  } else {
    uint8_t codes[kTile];
#pragma unroll
    for (int k = 0; k < kTile; ++k) codes[k] = has_codes ? encode_unsigned(values[k], scale, words.of(k)) : uint8_t{0};
    store_raw(static_cast<uint8_t*>(moment.data), part, codes);
  }
}

// out = values rounded stochastically. REQUIRES: dtype is bf16 or f16.
HALFTONE_DEVICE inline void store_rounded(const Part& part, const float (&values)[kTile], const Words& words,
                                          DType dtype, void* out) {
  uint16_t rounded[kTile];
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    rounded[k] = dtype == DType::kBF16 ? round_to_bf16(values[k], words.of(k)) : round_to_f16(values[k], words.of(k));
  }
  store_raw(static_cast<uint16_t*>(out), part, rounded);
}

// Rounds to nearest unless `is_random`; codes need words.
HALFTONE_DEVICE inline void store_moment(const Part& part, const float (&values)[kTile], bool is_random,
                                         const Words& words, const MomentSlot& moment) {
  if (moment.data == nullptr) return;
  if (moment.dtype == DType::kF32) return store_raw(static_cast<float*>(moment.data), part, values);
  if (moment.scales != nullptr) return store_codes(part, values, words, moment);
  if (is_random) return store_rounded(part, values, words, moment.dtype, moment.data);
  store_part(moment.data, moment.dtype, part, values);
}

}  // namespace halftone::cuda
