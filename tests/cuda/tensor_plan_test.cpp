// The choice of attention's kernels on tensor cores, and their launches.
#include "cuda/attention/tensor_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace halftone::cuda {
namespace {

constexpr size_t kSharedOfH100 = 227 << 10;
constexpr size_t kSharedOfA100 = 163 << 10;
constexpr TensorPass kPasses[] = {TensorPass::kForward, TensorPass::kGradQ, TensorPass::kGradKeys};

TEST(TensorPlan, TwoBlocksFitAMultiprocessorOfAnH100) {
  for (const TensorPass pass : kPasses) {
    for (const int depth : {64, 128}) {
      for (const bool is_masked : {false, true}) {
        const size_t bytes = tensor_shared_bytes({pass, depth, is_masked});
        EXPECT_LE(2 * (bytes + 1024), size_t{228} << 10) << depth;
        EXPECT_LE(bytes, kSharedOfA100) << depth;
      }
    }
  }
}

TEST(TensorPlan, TilesAreWholeStepsOfAllThreadsAndOfProducts) {
  for (const TensorPass pass : kPasses) {
    for (const int depth : {64, 128}) {
      for (const bool is_masked : {false, true}) {
        const TensorKernel kernel = {pass, depth, is_masked};
        const int rows_each_step = kTensorThreads / (depth / 8);
        EXPECT_EQ(tensor_tiles(kernel).columns % 16, 0);
        EXPECT_EQ(tensor_tiles(kernel).columns % rows_each_step, 0);
        EXPECT_EQ(tensor_rows(kernel) % rows_each_step, 0);
        EXPECT_EQ(rows_each_step % 8, 0);
        EXPECT_LE(2 * tensor_tiles(kernel).columns, kTensorThreads);  // a thread copies one number of a query
      }
    }
  }
}

TEST(TensorPlan, BlocksCoverAllRowsOfAllHeads) {
  const TensorKernel kernel = {TensorPass::kForward, 128, false};
  const int64_t tile = tensor_rows(kernel);
  for (const int64_t rows : {int64_t{1}, tile - 1, tile, tile + 1, 10 * tile, 10 * tile + 3, int64_t{1} << 28}) {
    for (const int64_t heads : {1, 3, 96}) {
      const int64_t blocks = tensor_blocks(kernel, rows, heads);
      ASSERT_EQ(blocks % heads, 0);
      ASSERT_GE(blocks / heads * tile, rows);
      ASSERT_LT((blocks / heads - 1) * tile, rows);
    }
  }
}

alignas(16) std::byte memory[64];

AttentionArgs args_of(DType dtype, int64_t depth, int64_t value_depth) {
  const auto view = [&](int64_t columns) {
    const Shape shape = {2, 3, 5, columns};
    return View{memory, dtype, shape, contiguous_strides(shape)};
  };
  return {.q = view(depth), .k = view(depth), .v = view(value_depth), .mask = {}, .settings = {}};
}

TEST(TensorPlan, TakesHalfDtypesOfEveryDepthUpTo128InWholeChunks) {
  for (int64_t depth = 1; depth <= 256; ++depth) {
    for (const int64_t value_depth : {depth, int64_t{64}, int64_t{128}}) {
      const int64_t widest = std::max(depth, value_depth);
      const int expected = depth % 8 != 0 || value_depth % 8 != 0 || widest > 128 ? 0 : widest <= 64 ? 64 : 128;
      ASSERT_EQ(tensor_depth(args_of(DType::kBF16, depth, value_depth), kSharedOfH100), expected) << depth;
      ASSERT_EQ(tensor_depth(args_of(DType::kF16, depth, value_depth), kSharedOfA100), expected) << depth;
      ASSERT_EQ(tensor_depth(args_of(DType::kF32, depth, value_depth), kSharedOfH100), 0) << depth;
      ASSERT_EQ(tensor_depth(args_of(DType::kBF16, depth, value_depth), 48 << 10), 0) << depth;
    }
  }
}

TEST(TensorPlan, LeavesWhatItCannotReadToTheOtherKernel) {
  const AttentionArgs plain = args_of(DType::kBF16, 64, 64);
  ASSERT_EQ(tensor_depth(plain, kSharedOfH100), 64);
  const auto refuses = [&](auto change) {
    AttentionArgs args = plain;
    change(args);
    return tensor_depth(args, kSharedOfH100) == 0;
  };
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.k.data = memory + 8; }));
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.v.strides[2] = 68; }));
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.q.strides[1] = 324; }));
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.q.strides[3] = 2; }));
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.v.dtype = DType::kF16; }));
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.v.strides[2] = int64_t{1} << 31; }));
  EXPECT_TRUE(refuses([](AttentionArgs& args) { args.k.shape[2] = int64_t{1} << 30; }));
  for (const double scale :
       {0.0, -1.0, 1e-30, 1e30, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(refuses([&](AttentionArgs& args) { args.settings.scale = scale; })) << scale;
  }
  // A stride of a dimension of one element is never used, and repeated keys are read as they are.
  EXPECT_FALSE(refuses([](AttentionArgs& args) {
    args.q.shape[1] = 1;
    args.q.strides[1] = 3;
  }));
  EXPECT_FALSE(refuses([](AttentionArgs& args) { args.k.strides[1] = 0; }));
}

}  // namespace
}  // namespace halftone::cuda
