// The random sequence of a stochastic rounding: chosen by seed, parameter and step. It holds one word for each element,
// by the element's number in the whole parameter, so the rounding depends on no thread, shard or device.
#pragma once

#include "core/host_device.h"
#include "core/philox.h"

namespace halftone {

// Moments and weights draw from sequences of their own.
enum class Rounded : uint64_t { kMoment = 0, kWeight = 1 };

// The top bit keeps these sequences apart from a context's, which count from 0. The parameter's number has 22 bits and
// the step 40. Beyond them sequences repeat, which costs independence and nothing else.
HALFTONE_HOST_DEVICE inline PhiloxKey rounding_key(uint64_t seed, int32_t parameter, int64_t step, Rounded rounded) {
  const uint64_t number = static_cast<uint64_t>(static_cast<uint32_t>(parameter) & 0x3fffff);
  return {.seed = seed,
          .sequence = uint64_t{1} << 63 | static_cast<uint64_t>(rounded) << 62 | number << 40 |
                      (static_cast<uint64_t>(step) & 0xffffffffff)};
}

}  // namespace halftone
