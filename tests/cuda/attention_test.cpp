// Attention on the CUDA device beside the cases of the operations: the kernels on tensor cores, for lengths at the
// edges of tiles, groups of heads, masks, causal offsets and dropout, against a plain form in double; and calls that
// these kernels leave to the others.
#include <cmath>
#include <string>

#include "attention_reference.h"
#include "cuda/attention/tensor_plan.h"
#include "cuda_device.h"
#include "device_copies.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr size_t kSharedMemory = 227 << 10;  // must match the emulated device

class AttentionOnCuda : public RoomTest {
 protected:
  // Forward, then backward of its own output.
  std::vector<HostTensor> run(const AttentionCase& c, DType dtype, bool is_tensor) {
    std::vector<HostTensor> tensors = tensors_of(c, dtype);
    DeviceCopies copies(*cuda_device(context()).device);
    std::vector<View> views;
    for (const HostTensor& tensor : tensors) views.push_back(copies.send(tensor));
    const AttentionArgs args = args_of(c, views);
    EXPECT_EQ(cuda::tensor_depth(args, kSharedMemory) != 0, is_tensor);
    const AttentionKernels& kernels = copies.kernels().attention;
    std::vector<float> scratch(static_cast<size_t>(c.batch * c.heads * c.queries));
    EXPECT_EQ(kernels.workspace(copies.stream(), AttentionPass::kBackward, args), scratch.size() * sizeof(float));
    float* const workspace = copies.lend(scratch.data(), scratch.size());
    const int64_t waits = cuda_waits();
    EXPECT_TRUE(kernels.forward(copies.stream(), args, nullptr, {views[kOutput], views[kLogSums]}).ok());
    EXPECT_TRUE(kernels
                    .backward(copies.stream(), args, {views[kGradOutput], views[kOutput], views[kLogSums]}, workspace,
                              {views[kGradQ], views[kGradK], views[kGradV]})
                    .ok());
    EXPECT_EQ(cuda_waits(), waits);
    EXPECT_TRUE(copies.fetch().ok());
    return tensors;
  }

  void expect_right(const AttentionCase& c, DType dtype, bool is_tensor = true) {
    SCOPED_TRACE(std::string(c.name) + " of " + std::string(name_of(dtype)));
    expect_attention(c, run(c, dtype, is_tensor), dtype);
  }
};

TEST_F(AttentionOnCuda, OfLengthsAtTheEdgesOfTiles) {
  for (const AttentionCase& c : {AttentionCase{"one query and key", 1, 1, 1, 1, 1, 64, 64},
                                 {"one query", 1, 2, 2, 1, 65, 64, 64},
                                 {"one key", 1, 1, 1, 17, 1, 64, 64},
                                 {"whole tiles", 1, 1, 1, 128, 128, 64, 64},
                                 {"one more", 1, 1, 1, 129, 65, 64, 64},
                                 {"one less", 1, 1, 1, 63, 127, 64, 64}}) {
    expect_right(c, DType::kBF16);
  }
}

TEST_F(AttentionOnCuda, OfEveryDepth) {
  for (const AttentionCase& c : {AttentionCase{"8", 1, 1, 1, 20, 30, 8, 8},
                                 {"40 and 64", 1, 1, 1, 20, 30, 40, 64},
                                 {"72 and 16", 1, 1, 1, 20, 70, 72, 16},
                                 {"128", 1, 1, 1, 33, 66, 128, 128}}) {
    expect_right(c, DType::kBF16);
    expect_right(c, DType::kF16);
  }
}

TEST_F(AttentionOnCuda, WithACausalMask) {
  for (const AttentionCase& c : {AttentionCase{"square", 1, 1, 1, 140, 140, 64, 64, true},
                                 {"after keys of a cache", 1, 1, 1, 40, 100, 64, 64, true, 60},
                                 {"before the first key", 1, 1, 1, 150, 100, 64, 64, true, -30},
                                 {"in long rows", 1, 1, 1, 70, 70, 128, 128, true}}) {
    expect_right(c, DType::kBF16);
  }
}

TEST_F(AttentionOnCuda, OfGroupsAndBatchesInMemoryByRows) {
  expect_right({.name = "groups",
                .batch = 2,
                .heads = 6,
                .kv_heads = 2,
                .queries = 33,
                .keys = 40,
                .depth = 64,
                .value_depth = 64,
                .is_causal = true,
                .causal_offset = 7,
                .is_by_rows = true},
               DType::kBF16);
}

TEST_F(AttentionOnCuda, WithMasks) {
  for (const MaskKind mask : {MaskKind::kAdded, MaskKind::kBool}) {
    for (const int64_t depth : {64, 128}) {
      expect_right({.name = mask == MaskKind::kAdded ? "added" : "bool",
                    .batch = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .queries = 66,
                    .keys = 70,
                    .depth = depth,
                    .value_depth = depth,
                    .is_causal = depth == 64,
                    .mask = mask},
                   DType::kBF16);
    }
  }
}

// The reference draws the CPU's numbers: one other choice would be far outside of the bounds.
TEST_F(AttentionOnCuda, WithDropoutOfTheCpusSequence) {
  for (const int64_t depth : {64, 128}) {
    expect_right({.name = "dropout",
                  .batch = 2,
                  .heads = 2,
                  .kv_heads = 1,
                  .queries = 35,
                  .keys = 70,
                  .depth = depth,
                  .value_depth = depth,
                  .is_causal = depth == 64,
                  .dropout = 0.3},
                 DType::kF16);
  }
}

TEST_F(AttentionOnCuda, ThatTensorCoresDoNotTake) {
  for (const AttentionCase& c :
       {AttentionCase{"long rows", 1, 1, 1, 5, 6, 136, 64},
        {"broken chunks", 1, 1, 1, 5, 6, 12, 64},
        {"a negative scale", 1, 1, 1, 5, 6, 64, 64, false, 0, MaskKind::kNone, 0, false, -1}}) {
    expect_right(c, DType::kBF16, false);
  }
  expect_right({"of another dtype", 1, 1, 1, 5, 6, 64, 64}, DType::kF32, false);
}

TEST_F(AttentionOnCuda, HasOneResultInEveryRun) {
  const AttentionCase c = {"groups", 1, 4, 2, 70, 90, 64, 64, true, 20};
  const std::vector<HostTensor> first = run(c, DType::kBF16, true);
  const std::vector<HostTensor> second = run(c, DType::kBF16, true);
  for (size_t t = 0; t < first.size(); ++t) EXPECT_EQ(first[t].bytes(), second[t].bytes()) << t;
}

// A NaN reaches the rows that see it, and no others.
TEST_F(AttentionOnCuda, OfANanIsNanInTheRowsThatSeeIt) {
  const AttentionCase c = {"causal", 1, 1, 1, 40, 40, 64, 64, true};
  std::vector<HostTensor> tensors = tensors_of(c, DType::kBF16);
  tensors[kK].set(20 * 64 + 3, std::nan(""));
  DeviceCopies copies(*cuda_device(context()).device);
  std::vector<View> views;
  for (const HostTensor& tensor : tensors) views.push_back(copies.send(tensor));
  ASSERT_TRUE(copies.kernels()
                  .attention.forward(copies.stream(), args_of(c, views), nullptr, {views[kOutput], views[kLogSums]})
                  .ok());
  ASSERT_TRUE(copies.fetch().ok());
  for (int64_t row = 0; row < 40; ++row) {
    EXPECT_EQ(std::isnan(tensors[kOutput].get(row * 64)), row >= 20) << row;
    EXPECT_EQ(std::isnan(tensors[kLogSums].get(row)), row >= 20) << row;
  }
}

}  // namespace
}  // namespace halftone
