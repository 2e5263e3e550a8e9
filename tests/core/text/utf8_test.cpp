#include "core/text/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace halftone {
namespace {

bool accepts(const std::string& text) { return is_utf8(text.data(), text.size()); }

// Encodes any number of up to 21 bits by the table in the Unicode standard.
std::string encoded(uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, AcceptsEveryCharacterAndNoSurrogate) {
  for (uint32_t point = 0; point <= 0x1fffff; ++point) {
    const bool is_character = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    ASSERT_EQ(accepts(encoded(point)), is_character) << point;
  }
}

TEST(Utf8, RefusesOverlongFormsAndCutSequences) {
  EXPECT_FALSE(accepts("\xc0\x80"));
  EXPECT_FALSE(accepts("\xc1\xbf"));
  EXPECT_FALSE(accepts("\xe0\x9f\xbf"));
  EXPECT_FALSE(accepts("\xf0\x8f\xbf\xbf"));
  EXPECT_FALSE(accepts("\x80"));
  EXPECT_FALSE(accepts("a\xc3"));
  EXPECT_FALSE(accepts("\xe2\x82"));
  EXPECT_FALSE(accepts("\xff"));
  EXPECT_TRUE(accepts(""));
}

}  // namespace
}  // namespace halftone
