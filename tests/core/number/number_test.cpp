// The scalar formats against the table-based reference in tests/nearest_code.h. tests/exhaustive checks the kernels,
// which give bitwise equal results, for all 2^32 inputs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "core/type_list.h"
#include "nearest_code.h"

namespace halftone {
namespace {

template <class T>
class ScalarFormat : public testing::Test {};
using Formats = testing::Types<Float16, BFloat16, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(ScalarFormat, Formats);

template <class T>
T with_bits(uint32_t bits) {
  return {static_cast<decltype(T::bits)>(bits)};
}

TYPED_TEST(ScalarFormat, RoundsToNearestEven) {
  NearestCode reference(dtype_of<TypeParam>);
  for (uint64_t word = 0; word < uint64_t{1} << 32; word += 251) {
    const uint32_t bits = static_cast<uint32_t>(word);
    ASSERT_EQ(TypeParam::from(std::bit_cast<float>(bits)).bits, reference.of_word(bits)) << std::hex << bits;
  }
}

TYPED_TEST(ScalarFormat, RoundsRightAtEveryTieAndBesideIt) {
  NearestCode reference(dtype_of<TypeParam>);
  for (int code = 0; code < reference.largest(); ++code) {
    const double middle = (reference.value(code) + reference.value(code + 1)) / 2;
    const uint32_t word = std::bit_cast<uint32_t>(static_cast<float>(middle));
    for (const uint32_t bits : {word, word + 1, word > 0 ? word - 1 : 0, word | 0x80000000}) {
      ASSERT_EQ(TypeParam::from(std::bit_cast<float>(bits)).bits, reference.of_word(bits)) << std::hex << bits;
    }
  }
}

TYPED_TEST(ScalarFormat, WidensEveryFiniteCodeExactly) {
  const NearestCode reference(dtype_of<TypeParam>);
  const uint32_t sign = 1u << (reference.bits() - 1);
  for (int code = 0; code <= reference.largest(); ++code) {
    for (const uint32_t bits : {static_cast<uint32_t>(code), static_cast<uint32_t>(code) | sign}) {
      const float value = with_bits<TypeParam>(bits);
      ASSERT_EQ(value, reference.value(bits));
      ASSERT_EQ(std::signbit(value), bits != static_cast<uint32_t>(code));
      ASSERT_EQ(TypeParam::from(value).bits, bits);
    }
  }
}

TYPED_TEST(ScalarFormat, KeepsNanAsQuietNan) {
  for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff812345u}) {
    const float back = TypeParam::from(std::bit_cast<float>(bits));
    ASSERT_TRUE(std::isnan(back));
    EXPECT_TRUE((std::bit_cast<uint32_t>(back) & 0x400000) != 0);
    EXPECT_EQ(std::signbit(back), bits >> 31 != 0);
  }
}

// A signalling NaN becomes quiet, as in the hardware's conversions.
TEST(NumberFormats, WidenSignallingNanQuietly) {
  const float half = Float16{0x7c01};
  EXPECT_EQ(std::bit_cast<uint32_t>(half), 0x7fc02000u);
  const float e5m2 = Float8E5M2{0xfd};
  EXPECT_EQ(std::bit_cast<uint32_t>(e5m2), 0xffe00000u);
}

TEST(NumberFormats, MeetInfinityAsTheirStandardsSay) {
  EXPECT_EQ(Float16::from(INFINITY).bits, 0x7c00);
  EXPECT_EQ(BFloat16::from(-INFINITY).bits, 0xff80);
  EXPECT_EQ(Float8E5M2::from(INFINITY).bits, 0x7c);
  EXPECT_EQ(Float8E4M3::from(INFINITY).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(-INFINITY).bits, 0xfe);
}

TEST(Float8E4M3, OverflowsIntoNanWhereAsked) {
  EXPECT_EQ(Float8E4M3::from(464.0f, Overflow::kNonFinite).bits, 0x7e);
  EXPECT_EQ(Float8E4M3::from(464.1f, Overflow::kNonFinite).bits, 0x7f);
  EXPECT_EQ(Float8E4M3::from(-INFINITY, Overflow::kNonFinite).bits, 0xff);
}

// The formats also work at compile time.
static_assert(Float16::from(1.0f).bits == 0x3c00 && Float16::from(65504.0f).bits == 0x7bff);
static_assert(BFloat16::from(1.0f).bits == 0x3f80);
static_assert(Float8E4M3::from(448.0f).bits == 0x7e && Float8E5M2::from(57344.0f).bits == 0x7b);

}  // namespace
}  // namespace halftone
