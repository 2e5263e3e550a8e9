// The plans of reductions and of rows: which threads share an output, and how views are cut. Host code of the CUDA
// backend.
#include <gtest/gtest.h>

#include "cuda/norm/row.h"
#include "cuda/reduce/geometry.h"

namespace halftone::cuda {
namespace {

alignas(16) float memory[1 << 12];

View view(const Shape& shape, const Shape& strides, float* data = memory) {
  return {.data = data, .dtype = DType::kF32, .shape = shape, .strides = strides};
}
View dense(const Shape& shape) { return view(shape, contiguous_strides(shape)); }

// Every output has threads, and the pieces cover all terms without an empty one.
TEST(FoldPlan, CoversAllTermsOfAllOutputs) {
  for (const int64_t outputs : {1, 3, 40, 1000, 1 << 20}) {
    for (const int64_t terms : {0, 1, 7, 100, 5000, 1 << 22}) {
      for (const bool by_columns : {false, true}) {
        const FoldPlan plan = plan_fold(outputs, terms, by_columns, 4096);
        EXPECT_EQ(plan.width * plan.depth, kFoldThreads);
        EXPECT_GE(plan.pieces, 1);
        EXPECT_GE(plan.pieces * plan.piece_length, terms);
        if (plan.pieces == 1) continue;
        EXPECT_LE(plan.pieces * outputs, 4096);
        EXPECT_LT((plan.pieces - 1) * plan.piece_length, terms);
        EXPECT_EQ(plan.piece_length % kTile, 0);
      }
    }
  }
}

TEST(FoldPlan, UsesManyBlocksForFewOutputs) {
  EXPECT_EQ(plan_fold(1, 1 << 24, false, 65536).pieces, 1024);
  EXPECT_EQ(plan_fold(1, 1 << 24, false, 100).pieces, 100);
  EXPECT_EQ(plan_fold(1 << 20, 4096, false, 65536).pieces, 1);
  EXPECT_EQ(plan_fold(1, 100, false, 65536).pieces, 1);
}

TEST(FoldPlan, GivesAWarpOfColumnsToABlock) {
  EXPECT_EQ(plan_fold(4096, 4096, true, 65536).width, kWarp);
  EXPECT_EQ(plan_fold(4096, 3, true, 65536).width, kFoldThreads);
  EXPECT_EQ(plan_fold(2, 4096, true, 65536).width, 2);
}

TEST(Geometry, SortsDimensionsIntoKeptAndReduced) {
  const View in = dense({4, 6, 8}), out = dense({4, 1, 8});
  const Geometry<1, 1> geometry = geometry_of({&in}, {&out});
  EXPECT_EQ(geometry.outputs.count, 32);
  EXPECT_EQ(geometry.terms.count, 6);
  EXPECT_EQ(geometry.terms.strides[0][0], 8);
  EXPECT_TRUE(is_by_columns(geometry));
  EXPECT_FALSE(geometry.is_tiled);
  EXPECT_EQ(offsets_at(geometry.outputs, 9).at[0], 49);
  EXPECT_EQ(offsets_at(geometry.outputs, 9).at[1], 9);
}

TEST(Geometry, IsTiledWhereTermsLieSideBySideAndAligned) {
  const View out = dense({4, 1});
  const auto is_tiled = [&](const View& in) { return geometry_of({&in}, {&out}).is_tiled; };
  EXPECT_TRUE(is_tiled(dense({4, 16})));
  EXPECT_TRUE(is_tiled(view({4, 13}, {16, 1})));
  EXPECT_FALSE(is_tiled(dense({4, 13})));
  EXPECT_FALSE(is_tiled(view({4, 16}, {16, 1}, memory + 1)));
  EXPECT_FALSE(is_tiled(view({4, 16}, {1, 4})));
}

TEST(RowSet, IsTiledAcrossDimensionsOfWholeTiles) {
  const View images = view({2, 3, 16}, {16, 32, 1});
  EXPECT_TRUE(row_set({&images}, 2).is_tiled);
  const View odd = view({2, 4, 12}, {12, 24, 1});
  EXPECT_FALSE(row_set({&odd}, 2).is_tiled);
}

}  // namespace
}  // namespace halftone::cuda
