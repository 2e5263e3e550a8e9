#include "cpu/rows/sum_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace halftone::cpu {
namespace {

View view_of(const Shape& shape, const Shape& strides) { return {nullptr, DType::kF32, shape, strides}; }
View view_of(const Shape& shape) { return view_of(shape, contiguous_strides(shape)); }

TEST(SumPlan, SumsSideBySideWhereColumnsLieClosestTogether) {
  EXPECT_TRUE(SumPlan(view_of({128, 512}), view_of({1, 512}), 64).by_columns());
  EXPECT_FALSE(SumPlan(view_of({128, 512}), view_of({128, 1}), 64).by_columns());
  EXPECT_TRUE(SumPlan(view_of({128, 512}, {1, 128}), view_of({128, 1}), 64).by_columns());
  EXPECT_TRUE(SumPlan(view_of({5000, 3}), view_of({5000, 1}), 64).by_columns());  // rows too short to sum one by one
}

TEST(SumPlan, SumsASingleOutputAlongItsTerms) {
  EXPECT_FALSE(SumPlan(view_of({128, 512}), view_of({1, 1}), 64).by_columns());
  EXPECT_FALSE(SumPlan(view_of({7}), view_of({1}), 64).by_columns());
}

TEST(SumPlan, MergesTermsThatContinueEachOther) {
  const SumPlan plan(view_of({4, 5, 6}), view_of({1, 1, 1}), 64);
  EXPECT_EQ(plan.term_count(), 120);
  EXPECT_TRUE(plan.terms().is_dense());
}

TEST(SumPlan, CoversEveryOutputByOneStrip) {
  const Shape outs[] = {{1, 70, 3}, {9, 1, 3}, {9, 70, 1}, {9, 1, 1}, {1, 1, 1}, {9, 70, 3}};
  for (const Shape& out : outs) {
    const SumPlan plan(view_of({9, 70, 3}, {1, 10, 1000}), view_of(out), 64);
    std::vector<int> seen(static_cast<size_t>(numel(out)));
    for (int64_t i = 0; i < plan.strip_count(); ++i) {
      const Strip strip = plan.strip(i);
      EXPECT_LE(strip.width, 64);
      for (int64_t j = 0; j < strip.width; ++j) ++seen[static_cast<size_t>(strip.out_offset + j * strip.out_stride)];
    }
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
    EXPECT_EQ(plan.term_count() * numel(out), 9 * 70 * 3);
  }
}

}  // namespace
}  // namespace halftone::cpu
