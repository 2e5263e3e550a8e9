// The choices of a plan that only speed shows: what is packed, and what is read in place.
#include "cpu/gemm/plan.h"

#include <gtest/gtest.h>

#include "cpu/gemm/dot.h"
#include "cpu/gemm/gemm_case.h"
#include "instruction_sets.h"

namespace halftone {
namespace {

constexpr cpu::TileShape kAvx512 = {14, 32, 16};
constexpr cpu::TileShape kAvx2 = {6, 16, 8};

// The plan of a [m, k], whose rows are `stride` elements apart, times a b that does not matter.
cpu::GemmPlan plan_of(int64_t m, int64_t k, int64_t stride, const cpu::TileShape& tile = kAvx512,
                      DType dtype = DType::kF32) {
  GemmArgs args;
  args.a = {nullptr, dtype, {m, k}, {stride, 1}};
  args.b = {nullptr, dtype, {k, 512}, {512, 1}};
  args.c = {nullptr, DType::kF32, {m, 512}, {512, 1}};
  return cpu::plan_gemm(args, tile, dtype == DType::kBF16 ? cpu::kDotElements : 1);
}

TEST(GemmPlan, PacksRowsThatShareASetOfL1) {
  for (const int64_t m : {9, 14, 1000}) {
    EXPECT_TRUE(plan_of(m, 1024, 1024).packs_a) << m;
    EXPECT_TRUE(plan_of(m, 100, 2048).packs_a) << m;
    EXPECT_TRUE(plan_of(m, 2048, 2048, kAvx512, DType::kBF16).packs_a) << m;
  }
  // One more element per row: lines differ only after 16 rows.
  EXPECT_TRUE(plan_of(1000, 1024, 1025).packs_a);
}

TEST(GemmPlan, ReadsRowsInPlaceThatFitIntoTheirSets) {
  for (const int64_t stride : {0, 1, 1000, 1008, 1026, 1040, 512, 768, 1536}) {
    EXPECT_FALSE(plan_of(1000, 500, stride).packs_a) << stride;
  }
  EXPECT_FALSE(plan_of(1000, 1024, 1024, kAvx512, DType::kBF16).packs_a);
  EXPECT_FALSE(plan_of(8, 1024, 1024).packs_a);
  EXPECT_FALSE(plan_of(1000, 1024, 1024, kAvx2).packs_a);
}

TEST(GemmPlan, ReadsASmallColumnMajorAInPlace) {
  GemmArgs args;
  args.a = {nullptr, DType::kF32, {30, 40}, {1, 1024}};
  args.b = {nullptr, DType::kF32, {40, 50}, {50, 1}};
  args.c = {nullptr, DType::kF32, {30, 50}, {50, 1}};
  EXPECT_FALSE(cpu::plan_gemm(args, kAvx512, 1).packs_a);
}

// The plan of an a of m rows times b [k, n], whose rows are contiguous.
cpu::GemmPlan plan_with_b(int64_t m, int64_t k, int64_t n, const cpu::TileShape& tile) {
  GemmArgs args;
  args.a = {nullptr, DType::kF32, {m, k}, {k, 1}};
  args.b = {nullptr, DType::kF32, {k, n}, {n, 1}};
  args.c = {nullptr, DType::kF32, {m, n}, {n, 1}};
  return cpu::plan_gemm(args, tile, 1);
}

TEST(GemmPlan, PacksRowsOfBThatManyNarrowTilesRead) {
  EXPECT_TRUE(plan_with_b(192, 768, 768, kAvx2).packs_b);
  EXPECT_FALSE(plan_with_b(191, 768, 768, kAvx2).packs_b);
  EXPECT_FALSE(plan_with_b(4096, 768, 768, kAvx512).packs_b);
  EXPECT_FALSE(plan_with_b(4096, 128, 256, kAvx2).packs_b);  // fits L2 in any case
}

// The order of a sum is not a choice of the plan: the stride of a may not change a bit.
TEST(GemmPlan, TheBitsDoNotDependOnTheStrideOfRows) {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      GemmCase test({31, 49, 1600}, {dtype, dtype, DType::kF32});
      test.run();
      test.expect_right();
      const std::vector<std::byte> expected = test.c().bytes();
      const View b = test.args().b;
      for (const int64_t stride : {1601, 2048, 4096}) {
        HostTensor a(dtype, {31, 1600}, {stride, 1});
        for (int64_t i = 0; i < a.numel(); ++i) a.set(i, test.a().get(i));
        test.replace_operands(a.view(), b);
        test.run();
        EXPECT_TRUE(test.c().bytes() == expected) << stride;
      }
    }
  });
}

}  // namespace
}  // namespace halftone
