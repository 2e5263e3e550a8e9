#include "ops/shape/stride.h"

#include "room_fixture.h"

namespace halftone {
namespace {

TEST(ViewStrides, SplitsAndMergesWhatLiesTogether) {
  Shape strides;
  ASSERT_TRUE(view_strides({2, 3, 4}, {12, 4, 1}, {6, 2, 2}, &strides));
  EXPECT_EQ(strides, (Shape{4, 2, 1}));
  ASSERT_TRUE(view_strides({6}, {2}, {2, 3}, &strides));
  EXPECT_EQ(strides, (Shape{6, 2}));
  ASSERT_TRUE(view_strides({4, 6}, {12, 1}, {4, 2, 3}, &strides));  // a slice of columns
  EXPECT_EQ(strides, (Shape{12, 3, 1}));
}

TEST(ViewStrides, RefusesToMergeWhatDoesNot) {
  Shape strides;
  EXPECT_FALSE(view_strides({2, 3}, {1, 2}, {6}, &strides));
  EXPECT_FALSE(view_strides({4, 6}, {12, 1}, {24}, &strides));
  EXPECT_FALSE(view_strides({4, 6}, {12, 1}, {8, 3, 1}, &strides) && strides[0] == 3);
}

TEST(ViewStrides, SizesOfOneMayStandAnywhere) {
  Shape strides;
  ASSERT_TRUE(view_strides({1, 2, 1, 3}, {99, 3, 77, 1}, {1, 6, 1}, &strides));
  EXPECT_EQ(strides[1], 1);
  ASSERT_TRUE(view_strides({1, 1}, {5, 7}, {}, &strides));
  EXPECT_EQ(strides.rank(), 0);
  ASSERT_TRUE(view_strides({}, {}, {1, 1, 1}, &strides));
  EXPECT_EQ(strides.rank(), 3);
}

class ReshapedTest : public RoomTest {};

// Every layout of 24 elements against every shape: the result, view or copy, keeps the order of elements.
TEST_F(ReshapedTest, KeepsTheOrderOfElementsForEveryLayout) {
  std::vector<double> counted(24);
  for (int i = 0; i < 24; ++i) counted[i] = i;
  const Tensor base = tensor({2, 3, 4}, counted);
  const std::vector<Shape> shapes = {{24}, {2, 12}, {6, 4}, {4, 6}, {3, 8}, {1, 24, 1}, {2, 1, 3, 4}, {4, 3, 2}};
  const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    Shape shape, strides;
    for (int dim : order) {
      shape.push_back(base.size(dim));
      strides.push_back(base.strides()[dim]);
    }
    const Tensor permuted = base.as_strided(shape, strides, 0);
    for (const Shape& target : shapes) EXPECT_EQ(values(reshaped(permuted, target)), values(permuted));
  }
}

}  // namespace
}  // namespace halftone
