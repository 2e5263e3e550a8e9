#include "core/number/scale8.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace halftone {
namespace {

constexpr float kE4M3Largest = 448;
constexpr float kE5M2Largest = 57344;
constexpr float kE2M1Largest = 6;

int bounded(int exponent) { return std::min(std::max(exponent, -127), 127); }

int floor_rule(float amax, float largest) { return bounded(std::ilogb(amax) - std::ilogb(largest)); }

// The smallest exponent whose power of two times `largest` is not below amax, by trial in double.
int round_up_rule(float amax, float largest) {
  int exponent = std::ilogb(amax) - std::ilogb(largest) - 2;
  while (std::ldexp(static_cast<double>(largest), exponent) < static_cast<double>(amax)) ++exponent;
  return bounded(exponent);
}

TEST(ScaleE8M0, WidensEveryCodeExactly) {
  for (int code = 0; code < 255; ++code) {
    const float value = ScaleE8M0{static_cast<uint8_t>(code)};
    EXPECT_EQ(static_cast<double>(value), std::ldexp(1.0, code - 127));
  }
  EXPECT_TRUE(std::isnan(ScaleE8M0{255}));
}

// Every positive BF16 and its two neighbours in FP32: subnormals, both ends of the range, and every fraction of the
// formats' largest numbers.
TEST(ScaleE8M0, FollowsBothRules) {
  for (const float largest : {1.0f, kE2M1Largest, kE4M3Largest, kE5M2Largest}) {
    for (uint32_t upper = 0; upper < 0x7f80; ++upper) {
      for (const uint32_t bits : {(upper << 16) - 1, upper << 16, (upper << 16) + 1}) {
        const float amax = std::bit_cast<float>(bits);
        if (!(amax > 0)) continue;
        ASSERT_EQ(ScaleE8M0::rounded_down(amax, largest).bits, floor_rule(amax, largest) + 127) << amax;
        ASSERT_EQ(ScaleE8M0::rounded_up(amax, largest).bits, round_up_rule(amax, largest) + 127) << amax;
      }
    }
  }
}

TEST(ScaleE8M0, GivesItsSmallestScaleForZeroAndNanForNoNumber) {
  for (const auto rule : {ScaleE8M0::rounded_down, ScaleE8M0::rounded_up}) {
    EXPECT_EQ(rule(0.0f, kE4M3Largest).bits, 0);
    EXPECT_EQ(rule(INFINITY, kE4M3Largest).bits, 255);
    EXPECT_EQ(rule(NAN, kE4M3Largest).bits, 255);
    EXPECT_EQ(rule(std::numeric_limits<float>::max(), 1.0f).bits, 254);
  }
}

static_assert(ScaleE8M0::rounded_down(500.0f, kE4M3Largest) == 1.0f);
static_assert(ScaleE8M0::rounded_up(500.0f, kE4M3Largest) == 2.0f);

}  // namespace
}  // namespace halftone
