#include "core/text/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace halftone {
namespace {

TEST(Glob, WithoutWildcardsMatchesTheNameItself) {
  EXPECT_TRUE(matches_glob("0.weight", "0.weight"));
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_FALSE(matches_glob("0.weight", "0.weights"));
  EXPECT_FALSE(matches_glob("0.weight", "10.weight"));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_FALSE(matches_glob("a", ""));
}

TEST(Glob, AStarStandsForAnyRunOfBytes) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*.bias", "encoder.3.bias"));
  EXPECT_TRUE(matches_glob("encoder.*", "encoder.3.bias"));
  EXPECT_TRUE(matches_glob("*norm*", "layer.norm1.weight"));
  EXPECT_TRUE(matches_glob("a**b", "ab"));
  EXPECT_FALSE(matches_glob("*.bias", "bias"));
  EXPECT_FALSE(matches_glob("*.bias", "3.bias.weight"));
}

TEST(Glob, AStarGivesBackWhatTheRestNeeds) {
  EXPECT_TRUE(matches_glob("*ab", "aab"));
  EXPECT_TRUE(matches_glob("a*b*c", "a.b.b.c.c"));
  EXPECT_FALSE(matches_glob("a*b*c", "a.c.b"));
}

TEST(Glob, AQuestionMarkStandsForOneByte) {
  EXPECT_TRUE(matches_glob("?.weight", "7.weight"));
  EXPECT_FALSE(matches_glob("?.weight", "17.weight"));
  EXPECT_FALSE(matches_glob("a?", "a"));
  EXPECT_TRUE(matches_glob("*?", "a"));
}

TEST(Glob, BracketsAndBackslashesStandForThemselves) {
  EXPECT_TRUE(matches_glob("[ab]\\", "[ab]\\"));
  EXPECT_FALSE(matches_glob("[ab]", "a"));
}

// With backtracking to every star this test would practically never end.
TEST(Glob, ManyStarsTakeNoMoreThanTheProductOfTheLengths) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(matches_glob((pattern + "b").c_str(), std::string(5000, 'a').c_str()));
}

}  // namespace
}  // namespace halftone
