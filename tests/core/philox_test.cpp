#include "core/philox.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

// The known results that Random123 publishes for philox4x32-10 (kat_vectors).
TEST(Philox, AnswersThePublishedVectors) {
  EXPECT_EQ(philox({0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0ull, ~0ull}, ~0ull), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x299f31d0a4093822ull, 0x0370734413198a2eull}, 0x85a308d3243f6a88ull),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformStaysBelowOne) {
  EXPECT_EQ(uniform01(0), 0.0f);
  EXPECT_LT(uniform01(0xffffffff), 1.0f);
}

}  // namespace
}  // namespace halftone
