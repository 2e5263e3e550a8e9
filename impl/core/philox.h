// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a counter-based generator, so
// that element i of a sequence is a pure function of (seed, sequence, i) on any thread, shard and device.
#pragma once

#include <array>
#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// The generator at a replay of recorded work (runtime/recorded_step.h), in device memory.
struct ReplayedKey {
  uint64_t seed;
  uint64_t advance;  // the sequences that were taken between the recording and this replay
};

// Names one random sequence of 2^64 blocks of four words.
struct PhiloxKey {
  uint64_t seed = 0;
  uint64_t sequence = 0;
  // Not null for a key that was taken while a device recorded: its kernels use current_key().
  const ReplayedKey* replayed = nullptr;
};

// The key of this run of a kernel.
HALFTONE_HOST_DEVICE constexpr PhiloxKey current_key(const PhiloxKey& key) {
  if (key.replayed == nullptr) return key;
  return {.seed = key.replayed->seed, .sequence = key.sequence + key.replayed->advance};
}

using PhiloxBlock = std::array<uint32_t, 4>;

HALFTONE_HOST_DEVICE constexpr PhiloxBlock philox(PhiloxKey key, uint64_t block) {
  PhiloxBlock counter = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                         static_cast<uint32_t>(key.sequence), static_cast<uint32_t>(key.sequence >> 32)};
  uint32_t key0 = static_cast<uint32_t>(key.seed);
  uint32_t key1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// Uniform in [0, 1) on the 2^-24 grid, exact in FP32.
HALFTONE_HOST_DEVICE constexpr float uniform01(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

}  // namespace halftone
