// The plans of launches: places of elements, and grids. Host code of the CUDA backend.
#include "cuda/base/places.h"

#include <gtest/gtest.h>

#include <vector>

#include "cuda/base/launch.h"

namespace halftone::cuda {
namespace {

alignas(16) float memory[4096];

View view(const Shape& shape, const Shape& strides, float* data = memory) {
  return {.data = data, .dtype = DType::kF32, .shape = shape, .strides = strides};
}
View dense(const Shape& shape) { return view(shape, contiguous_strides(shape)); }

// The offset of element i, by going through all of its dimensions.
int64_t offset_of(const View& of, int64_t i) {
  int64_t offset = 0;
  for (int d = of.rank() - 1; d >= 0; --d) {
    offset += i % of.shape[d] * of.strides[d];
    i /= of.shape[d];
  }
  return offset;
}

void expect_every_offset(const View& a, const View& b) {
  const Places<2> places = places_of(a, b);
  ASSERT_EQ(places.count, a.numel());
  for (int64_t i = 0; i < places.count; ++i) {
    const Offsets<2> offsets = offsets_at(places, i);
    ASSERT_EQ(offsets.at[0], offset_of(a, i)) << i;
    ASSERT_EQ(offsets.at[1], offset_of(b, i)) << i;
  }
}

TEST(Places, AreThoseOfTheElementsInEveryLayout) {
  expect_every_offset(dense({}), dense({}));
  expect_every_offset(dense({0, 3}), dense({0, 3}));
  expect_every_offset(dense({2, 3, 5}), dense({2, 3, 5}));
  expect_every_offset(dense({2, 3, 5}), view({2, 3, 5}, {0, 5, 1}));
  expect_every_offset(view({4, 6}, {1, 4}), view({4, 6}, {12, 2}));
  expect_every_offset(view({7}, {-1}, memory + 6), dense({7}));
  expect_every_offset(view({1, 4, 1, 3}, {9, 3, 99, 1}), dense({1, 4, 1, 3}));
  expect_every_offset(dense({2, 2, 2, 2, 2, 2, 2, 2}), view({2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}));
}

TEST(Places, MergeDimensionsThatFollowEachOtherInAllViews) {
  EXPECT_EQ(places_of(dense({2, 3, 5}), dense({2, 3, 5})).rank, 1);
  EXPECT_EQ(places_of(dense({2, 3, 5}), view({2, 3, 5}, {0, 0, 0})).rank, 1);
  EXPECT_EQ(places_of(dense({2, 3, 5}), view({2, 3, 5}, {0, 5, 1})).rank, 2);
  EXPECT_EQ(places_of(dense({2, 3, 5}), view({2, 3, 5}, {30, 5, 1})).rank, 2);
}

TEST(Places, AreDenseWhereMemoryIsContiguousAndAligned) {
  EXPECT_TRUE(places_of(dense({2, 3}), dense({2, 3})).is_dense);
  EXPECT_FALSE(places_of(dense({2, 3}), view({2, 3}, {3, 1}, memory + 1)).is_dense);
  EXPECT_FALSE(places_of(dense({2, 3}), view({2, 3}, {1, 2})).is_dense);
}

TEST(Grid, HasABlockForEveryItemUntilTheDeviceIsFull) {
  DeviceState device;
  device.multiprocessors = 4;
  EXPECT_EQ(grid_for_items(device, 0).blocks, 0);
  EXPECT_EQ(grid_for_items(device, 1).blocks, 1);
  EXPECT_EQ(grid_for_items(device, kThreads + 1).blocks, 2);
  EXPECT_EQ(grid_for_items(device, int64_t{1} << 40).blocks, 4 * kBlocksPerMultiprocessor);
  EXPECT_EQ(grid_for_rows(int64_t{1} << 40, 128).blocks, INT32_MAX);
}

}  // namespace
}  // namespace halftone::cuda
