// The gradients of rules with second moments: their squares are finite. Every backend's update pass calls it; pure
// function, safe from any thread.
#pragma once

#include <cfloat>
#include <cmath>
#include <limits>

#include "core/host_device.h"

namespace halftone {

// Rules with second moments use no finite gradient beyond this, whose square is 2^124. If a second moment became
// infinite, its weight would never move again, and a block of 8-bit codes would be NaN. The powers of two above it are
// room for the difference of two such gradients, squared, and for the rounding of a moment's weights.
inline constexpr float kLargestSquared = 0x1p62f;

// effective_grad (formula/optimizer_state.h) within +-kLargestSquared. Without a clip value an infinity and NaN stay as
// they are, so that they are seen in the moments and the weights. One bound and one comparison, because compilers do
// not vectorise one bound after the other.
[[gnu::always_inline]] HALFTONE_HOST_DEVICE inline float squarable_grad(float grad, float factor, float clip_value) {
  const float bound = clip_value < kLargestSquared ? clip_value : kLargestSquared;
  const float largest = clip_value <= FLT_MAX ? std::numeric_limits<float>::infinity() : FLT_MAX;
  const float g = grad * factor;
  const float bounded = g > bound ? bound : (g < -bound ? -bound : g);
  return std::fabs(g) <= largest ? bounded : g;
}

}  // namespace halftone
