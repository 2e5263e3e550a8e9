#include "core/number/number_format.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

constexpr bool is(NumberFormat format, double largest, int32_t min_exponent, int32_t step_exponent) {
  const FormatBits bits = bits_of(format);
  return bits.largest() == largest && bits.min_exponent() == min_exponent && bits.step_exponent() == step_exponent;
}

// The largest number and the exponents of the smallest normal and subnormal one, from the formats' standards.
static_assert(is(NumberFormat::kF16, 65504, -14, -24));
static_assert(is(NumberFormat::kBF16, 3.3895313892515355e38, -126, -133));
static_assert(is(NumberFormat::kTF32, 3.4011621342146535e38, -126, -136));
static_assert(is(NumberFormat::kE4M3, 448, -6, -9));
static_assert(is(NumberFormat::kE5M2, 57344, -14, -16));
static_assert(is(NumberFormat::kE2M1, 6, 0, -1));

TEST(FormatBits, DescribeEveryIeeeFormat) {
  const FormatBits f32 = ieee_format(8, 23);
  EXPECT_EQ(f32.largest(), 0x1.fffffep127);
  EXPECT_EQ(f32.step_exponent(), -149);
  const FormatBits powers = ieee_format(2, 0);
  EXPECT_EQ(powers.largest(), 2.0);
  EXPECT_EQ(powers.step_exponent(), 0);
}

}  // namespace
}  // namespace halftone
