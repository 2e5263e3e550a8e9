#include "core/number/float4.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace halftone {
namespace {

// The magnitudes of OCP's table, by code.
constexpr float kMagnitudes[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

// The nearest code by plain search; of two equally near the even one.
uint32_t nearest_code(float value) {
  uint32_t best = 0;
  const double size = std::fmin(std::fabs(static_cast<double>(value)), 8.0);
  for (uint32_t code = 1; code < 8; ++code) {
    const double nearer = std::fabs(size - kMagnitudes[code]) - std::fabs(size - kMagnitudes[best]);
    if (nearer < 0 || (nearer == 0 && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(value) ? 8 : 0);
}

TEST(Float4E2M1, WidensEveryCode) {
  for (uint8_t code = 0; code < 16; ++code) {
    const float value = Float4E2M1{code};
    EXPECT_EQ(value, code < 8 ? kMagnitudes[code] : -kMagnitudes[code - 8]);
    EXPECT_EQ(std::signbit(value), code >= 8);
    EXPECT_EQ(Float4E2M1::from(value).bits, code);
  }
}

// Every BF16, which includes all ties, and its two neighbours in FP32.
TEST(Float4E2M1, RoundsToNearestEvenAndSaturates) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t bits : {(upper << 16) - 1, upper << 16, (upper << 16) + 1}) {
      const float value = std::bit_cast<float>(bits);
      if (std::isnan(value)) continue;
      ASSERT_EQ(Float4E2M1::from(value).bits, nearest_code(value)) << value;
    }
  }
}

TEST(Float4E2M1, GivesItsLargestNumberForNan) {
  EXPECT_EQ(Float4E2M1::from(NAN).bits, 7);
  EXPECT_EQ(Float4E2M1::from(-NAN).bits, 7);
}

static_assert(Float4E2M1::from(0.25f) == 0.0f && Float4E2M1::from(0.75f) == 1.0f && Float4E2M1::from(1.25f) == 1.0f);
static_assert(Float4E2M1::from(1.75f) == 2.0f && Float4E2M1::from(2.5f) == 2.0f && Float4E2M1::from(3.5f) == 4.0f);
static_assert(Float4E2M1::from(5.0f) == 4.0f && Float4E2M1::from(-7.0f) == -6.0f);

}  // namespace
}  // namespace halftone
