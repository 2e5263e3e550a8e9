#include "core/number/tf32.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace halftone {
namespace {

// To nearest even by division: exact, since a double holds every FP32 and the step is a power of two.
double nearest_on_grid(float value) {
  const int exponent = std::max(std::ilogb(value), -126);
  const double step = std::ldexp(1.0, exponent - 10);
  return std::nearbyint(static_cast<double>(value) / step) * step;
}

TEST(Tf32, RoundsToNearestEven) {
  const double beyond = std::ldexp(1.0, 128);
  for (uint64_t word = 1; word < 0x7f800000; word += 251) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(word));
    const double expected = nearest_on_grid(value);
    ASSERT_EQ(static_cast<double>(round_to_tf32(value)), expected == beyond ? INFINITY : expected) << value;
    ASSERT_EQ(round_to_tf32(-value), -round_to_tf32(value));
  }
}

// The kept bits are even and odd, of subnormals, too.
TEST(Tf32, RoundsRightAtTiesAndBesideThem) {
  for (const uint32_t kept : {0u, 1u, 0x3ffu, 0x400u, 0x1fc00u, 0x1fc01u, 0x3fbfeu}) {
    const uint32_t tie = kept << 13 | 0x1000;
    for (const uint32_t bits : {tie - 1, tie, tie + 1}) {
      const float value = std::bit_cast<float>(bits);
      EXPECT_EQ(static_cast<double>(round_to_tf32(value)), nearest_on_grid(value)) << std::hex << bits;
    }
  }
}

TEST(Tf32, KeepsInfinityAndNan) {
  EXPECT_EQ(round_to_tf32(-INFINITY), -INFINITY);
  for (const uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff801000u}) {
    const uint32_t rounded = std::bit_cast<uint32_t>(round_to_tf32(std::bit_cast<float>(bits)));
    EXPECT_EQ(rounded, (bits | 0x00400000u) & ~0x1fffu);
  }
}

// The largest number, 2^128 - 2^117, and the tie beyond it.
static_assert(std::bit_cast<uint32_t>(round_to_tf32(std::bit_cast<float>(0x7f7fefffu))) == 0x7f7fe000);
static_assert(std::bit_cast<uint32_t>(round_to_tf32(std::bit_cast<float>(0x7f7ff000u))) == 0x7f800000);

}  // namespace
}  // namespace halftone
