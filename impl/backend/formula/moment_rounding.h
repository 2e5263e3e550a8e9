// The rule by which a moment is rounded when it is stored: to nearest or stochastically. Every backend's update pass
// calls these; pure functions, safe from any thread.
//
// A step without a gradient multiplies a first moment by its decay: beta1 of Adam and AdamW, beta2 of Lion, the
// momentum of SGD and RMSprop, RMSprop's alpha for the mean of gradients. Rounding to nearest can stop this: a code
// times 0.97 is nearest to itself, and so is a BF16 number times 0.999. The moment then stays while the
// second moment, whose root Adam and AdamW divide by, shrinks, and the weight runs away. Stochastic rounding decays in
// the mean. Cases:
//   0                a moment of 0 stays 0 under either rule
//   tiny             codes: below a quarter of code 1 it becomes 0 (formula/block_code.h); BF16: subnormals decay to 0
//   infinite, NaN    BF16 keeps them; a block of codes reads NaN
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/host_device.h"

namespace halftone {

// Up to this decay a step takes at least 12.8 units in the last place from a normal BF16 number, so rounding to nearest
// changes the amount by a 25th at most, and no random words need to be drawn.
inline constexpr float kNearestDecay = 0.9f;

HALFTONE_HOST_DEVICE inline bool rounds_stochastically(DType dtype, float decay) {
  return dtype == DType::kI8 || dtype == DType::kU8 || (dtype == DType::kBF16 && decay > kNearestDecay);
}

// The element of the block whose random word rounds the first moment of element i. The second moment uses the word of
// element i itself: if one word rounded both, both would go up together, and the mean of their ratio would be biased.
HALFTONE_HOST_DEVICE inline constexpr int64_t first_moment_word(int64_t i) { return i ^ 128; }
// Likewise for the third moment, which has a word that is neither's.
HALFTONE_HOST_DEVICE inline constexpr int64_t third_moment_word(int64_t i) { return (i + 64) % 256; }

}  // namespace halftone
