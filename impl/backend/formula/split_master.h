// FP32 weights kept as two halves of 16 bits: a BF16 that is read as the weight, and a signed remainder that restores
// the FP32 exactly. Every backend's update pass calls these; pure functions, safe from any thread.
//   high = (bits + 0x8000) >> 16          remainder = the lower half, as a signed number
//   bits = (high << 16) + remainder
// All is modulo 2^32, so every one of the 2^32 patterns is restored.
#pragma once

#include <bit>
#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// Cases for `high` read as BF16: rounded half up on the bit pattern, which is away from zero, where RNE ties to even;
// overflow gives infinity as under RNE; infinities and the NaNs of arithmetic (0x7fc00000 and 0xffc00000) do not
// change. A NaN with other payload bits may read as infinity or zero, but its FP32 is restored exactly.
HALFTONE_HOST_DEVICE inline uint16_t split_high(float value) {
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(value) + 0x8000) >> 16);
}
HALFTONE_HOST_DEVICE inline int16_t split_remainder(float value) {
  return static_cast<int16_t>(std::bit_cast<uint32_t>(value));
}

HALFTONE_HOST_DEVICE inline float join_split(uint16_t high, int16_t remainder) {
  return std::bit_cast<float>((uint32_t{high} << 16) + static_cast<uint32_t>(int32_t{remainder}));
}

}  // namespace halftone
