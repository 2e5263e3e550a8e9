// The random Hadamard transform of blocks of 16 numbers, shared by the backends: each number gets a random sign, then
// the block is multiplied by the Hadamard matrix of that size, divided by 4. The map is orthogonal, so two factors of a
// product may both be mapped along the dimension that it sums over; an outlier is spread over its block before it sets
// the scale of few bits. arXiv:2509.25149.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "core/philox.h"

namespace halftone {

inline constexpr int32_t kHadamardSize = 16;

// Bit i is the sign of number i of every block. `key` as current_key() gives it.
HALFTONE_HOST_DEVICE constexpr uint32_t hadamard_signs(const PhiloxKey& key) { return philox(key, 0)[0] & 0xffff; }

HALFTONE_HOST_DEVICE inline void hadamard_block(uint32_t signs, float* block) {
  for (int32_t i = 0; i < kHadamardSize; ++i) block[i] = (signs >> i & 1) != 0 ? -block[i] : block[i];
  for (int32_t width = 1; width < kHadamardSize; width *= 2) {
    for (int32_t begin = 0; begin < kHadamardSize; begin += 2 * width) {
      for (int32_t i = begin; i < begin + width; ++i) {
        const float a = block[i], b = block[i + width];
        block[i] = a + b;
        block[i + width] = a - b;
      }
    }
  }
  for (int32_t i = 0; i < kHadamardSize; ++i) block[i] *= 0.25f;
}

}  // namespace halftone
