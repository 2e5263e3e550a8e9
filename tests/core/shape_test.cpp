#include "core/shape.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/error.h"

namespace halftone {
namespace {

Shape checked(const std::vector<int64_t>& sizes) {
  return checked_shape(sizes.data(), static_cast<int64_t>(sizes.size()), "shape");
}

// The message of the error that the call must throw.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    EXPECT_STREQ(error.argument(), "shape");
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(Shape, CountsElementsAndStrides) {
  const Shape shape = {2, 3, 4};
  EXPECT_EQ(numel(shape), 24);
  EXPECT_EQ(contiguous_strides(shape), (Shape{12, 4, 1}));
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{3, 0, 5}), 0);
  EXPECT_EQ(contiguous_strides({3, 0, 5}), (Shape{5, 5, 1}));
  EXPECT_FALSE((Shape{2, 3} == Shape{2, 3, 1}));
}

TEST(CheckedShape, TakesScalarsEmptyTensorsAndEightDimensions) {
  EXPECT_EQ(checked({}).rank(), 0);
  EXPECT_EQ(checked({0, 5}), (Shape{0, 5}));
  EXPECT_EQ(checked({1, 1, 1, 1, 1, 1, 1, 2}).rank(), 8);
  EXPECT_EQ(checked({int64_t{1} << 59}).rank(), 1);
}

TEST(CheckedShape, RefusesBadRanksAndSizes) {
  const int64_t size = 1;
  for (const int64_t rank : {int64_t{-1}, int64_t{9}, INT64_MAX}) {
    EXPECT_NE(refusal([&] { checked_shape(&size, rank, "shape"); }).find("dimensions"), std::string::npos);
  }
  EXPECT_EQ(refusal([] { checked({2, -3}); }), "shape[1]=-3 is negative");
}

// A8
TEST(CheckedShape, RefusesProductsThatOverflowEvenBehindAZero) {
  const int64_t half = int64_t{1} << 32;
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
           {half * 2, half / 2}, {half, half}, {0, half, half}, {half, half, 0}, {half, half / 8}, {INT64_MAX}}) {
    EXPECT_NE(refusal([&] { checked(sizes); }).find("more elements"), std::string::npos);
  }
}

TEST(MayOverlap, HoldsWhereTwoElementsShareAPlace) {
  EXPECT_FALSE(may_overlap({2, 3}, {3, 1}));
  EXPECT_FALSE(may_overlap({2, 3}, {1, 2}));
  EXPECT_FALSE(may_overlap({2, 3, 4}, {1, 100, 2}));
  EXPECT_FALSE(may_overlap({1, 4}, {0, 1}));
  EXPECT_FALSE(may_overlap({0, 4}, {0, 0}));
  EXPECT_FALSE(may_overlap({}, {}));
  EXPECT_TRUE(may_overlap({2, 3}, {0, 1}));
  EXPECT_TRUE(may_overlap({2, 3}, {2, 1}));
  EXPECT_TRUE(may_overlap({4, 4}, {1, 1}));
  EXPECT_TRUE(may_overlap({2, 2, 2}, {1, 4, 5}));
}

TEST(CheckedDim, CountsFromTheEnd) {
  EXPECT_EQ(checked_dim(-1, 3, "shape"), 2);
  EXPECT_EQ(checked_dim(0, 3, "shape"), 0);
  EXPECT_EQ(checked_dim(-1, 0, "shape"), 0);
  EXPECT_EQ(refusal([] { checked_dim(3, 3, "shape"); }), "shape=3 is outside [-3, 3)");
  EXPECT_EQ(refusal([] { checked_dim(INT64_MIN, 3, "shape"); }), "shape=-9223372036854775808 is outside [-3, 3)");
}

TEST(ShapeText, HoldsTheLongestShape) {
  const int64_t long_size = INT64_MIN;
  const Shape shape = {long_size, long_size, long_size, long_size, long_size, long_size, long_size, long_size};
  const ShapeText text(shape);
  EXPECT_EQ(std::strlen(text.text), 8u * 20 + 7 * 2 + 2);
  EXPECT_STREQ(ShapeText({2, 3}).text, "[2, 3]");
  EXPECT_STREQ(ShapeText({}).text, "[]");
}

}  // namespace
}  // namespace halftone
