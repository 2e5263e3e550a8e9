// Where stochastic rounding draws its random words: a stream by seed, parameter and step, in it one word for each
// element by its number in the whole parameter. So what is rounded how depends on no thread, shard or device.
#pragma once

#include "core/philox.h"

namespace halftone {

// What is rounded; each draws words of its own.
enum class Rounded : uint64_t { kMoment = 0, kWeight = 1 };

// The top bit keeps these streams apart from a context's, which count from 0. Of the parameter's number 22 bits count,
// of the step 40: beyond them streams repeat, which costs independence and nothing else.
inline PhiloxKey rounding_key(uint64_t seed, int32_t parameter, int64_t step, Rounded rounded) {
  const uint64_t number = static_cast<uint64_t>(static_cast<uint32_t>(parameter) & 0x3fffff);
  return {.seed = seed,
          .stream = uint64_t{1} << 63 | static_cast<uint64_t>(rounded) << 62 | number << 40 |
                    (static_cast<uint64_t>(step) & 0xffffffffff)};
}

}  // namespace halftone
