// Attention of BF16 by dot products: against the plain form in double, within the errors of rounded weights; and calls
// that do not take them.
#include "cpu/attention/dot.h"

#include <cstring>

#include "attention_reference.h"
#include "backend/kernels/kernels.h"
#include "cpu/device.h"
#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "hwy/targets.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class AttentionByDot : public RoomTest {
 protected:
  void SetUp() override {
    if ((hwy::SupportedTargets() & HWY_AVX3) == 0 || !cpu::has_dot()) {
      GTEST_SKIP() << "this CPU has no dot products of BF16 pairs";
    }
    cpu::set_dot_use_for_test(cpu::DotUse::kAlways);
  }
  void TearDown() override { cpu::set_dot_use_for_test(cpu::DotUse::kWhereFaster); }

  // Forward, then backward of its own output.
  std::vector<HostTensor> run(const AttentionCase& c, DType dtype) {
    std::vector<HostTensor> tensors = tensors_of(c, dtype);
    run(c, tensors);
    return tensors;
  }
  void run(const AttentionCase& c, std::vector<HostTensor>& tensors) {
    Device& cpu = *device().device;
    std::vector<View> v;
    for (const HostTensor& tensor : tensors) v.push_back(tensor.view());
    const AttentionArgs args = args_of(c, v);
    const AttentionKernels& kernels = cpu.kernels().attention;
    // Full of NaN, which a product that reads more than was written would show.
    const auto workspace = [&](AttentionPass pass) {
      HostTensor memory(DType::kU8, {static_cast<int64_t>(kernels.workspace(cpu.stream(), pass, args))});
      std::memset(memory.data(), 0xff, static_cast<size_t>(memory.numel()));
      return memory;
    };
    HostTensor forward = workspace(AttentionPass::kForward);
    EXPECT_TRUE(kernels.forward(cpu.stream(), args, forward.data(), {v[kOutput], v[kLogSums]}).ok());
    HostTensor backward = workspace(AttentionPass::kBackward);
    EXPECT_TRUE(kernels
                    .backward(cpu.stream(), args, {v[kGradOutput], v[kOutput], v[kLogSums]}, backward.data(),
                              {v[kGradQ], v[kGradK], v[kGradV]})
                    .ok());
    EXPECT_TRUE(forward.guards_hold() && backward.guards_hold());
  }

  std::vector<HostTensor> run_without(const AttentionCase& c, DType dtype) {
    cpu::set_dot_use_for_test(cpu::DotUse::kNever);
    std::vector<HostTensor> tensors = run(c, dtype);
    cpu::set_dot_use_for_test(cpu::DotUse::kAlways);
    return tensors;
  }

  void expect_right(const AttentionCase& c) {
    SCOPED_TRACE(c.name);
    expect_attention(c, run(c, DType::kBF16), DType::kBF16);
  }
};

TEST_F(AttentionByDot, OfLengthsAtTheEdgesOfTilesAndBlocks) {
  for (const AttentionCase& c : {AttentionCase{"one query and key", 1, 1, 1, 1, 1, 64, 64},
                                 {"one query", 1, 2, 2, 1, 65, 64, 64},
                                 {"one key", 1, 1, 1, 17, 1, 64, 64},
                                 {"whole tiles", 1, 1, 1, 98, 256, 64, 64},
                                 {"one more", 1, 1, 1, 99, 257, 64, 64},
                                 {"one less", 1, 1, 1, 97, 255, 64, 64},
                                 {"a pair of rows in the last tile", 1, 1, 1, 30, 34, 16, 16}}) {
    expect_right(c);
  }
}

TEST_F(AttentionByDot, OfEveryDepth) {
  for (const AttentionCase& c : {AttentionCase{"1", 1, 1, 1, 20, 30, 1, 1},
                                 {"37 and 5", 1, 1, 1, 20, 30, 37, 5},
                                 {"8 and 33", 1, 1, 1, 21, 31, 8, 33},
                                 {"130 and 257", 1, 1, 1, 33, 66, 130, 257}}) {
    expect_right(c);
  }
}

TEST_F(AttentionByDot, WithACausalMask) {
  for (const AttentionCase& c : {AttentionCase{"square", 1, 1, 1, 300, 300, 64, 64, true},
                                 {"more keys than queries see", 1, 1, 1, 109, 140, 5, 3, true},
                                 {"after keys of a cache", 1, 1, 1, 40, 100, 64, 64, true, 60},
                                 {"before the first key", 1, 1, 1, 150, 100, 64, 64, true, -31},
                                 {"long before the first key", 1, 1, 1, 140, 100, 8, 8, true, -120}}) {
    expect_right(c);
  }
}

TEST_F(AttentionByDot, OfGroupsAndBatchesInMemoryByRows) {
  AttentionCase c = {"groups", 2, 6, 2, 33, 40, 64, 62, true, 7};
  c.is_by_rows = true;
  expect_right(c);
}

TEST_F(AttentionByDot, OfLongRows) {
  expect_right({"rows of 4096", 1, 1, 1, 17, 4096, 64, 64});
  expect_right({"causal rows of 4096", 1, 2, 1, 10, 4096, 64, 64, true, 4085});
}

// Row 1 of every head sees no key.
TEST_F(AttentionByDot, WithMasks) {
  for (const MaskKind mask : {MaskKind::kAdded, MaskKind::kBool}) {
    for (const bool is_causal : {false, true}) {
      AttentionCase c = {"mask", 1, 2, 1, 66, 270, 16, 20, is_causal, 100, mask};
      expect_right(c);
      c.scale = -0.5;
      expect_right(c);
    }
  }
}

TEST_F(AttentionByDot, WithAnyScale) {
  for (const double scale : {-0.7, 0.0, 3.0}) {
    AttentionCase c = {"scale", 1, 1, 1, 35, 70, 24, 24, true, 11};
    c.scale = scale;
    expect_right(c);
  }
}

TEST_F(AttentionByDot, WithDropout) {
  for (const MaskKind mask : {MaskKind::kNone, MaskKind::kAdded}) {
    expect_right({"dropout", 2, 2, 1, 35, 270, 16, 16, mask == MaskKind::kNone, 200, mask, 0.3});
  }
}

// Weights are rounded by dot products alone, so results differ.
TEST_F(AttentionByDot, OfBFloat16Alone) {
  const AttentionCase c = {"case", 1, 2, 1, 40, 300, 32, 32, true, 260};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const std::vector<HostTensor> with = run(c, dtype);
    const std::vector<HostTensor> without = run_without(c, dtype);
    for (const AttentionPart part : {kOutput, kGradQ, kGradK, kGradV}) {
      EXPECT_EQ(with[part].bytes() == without[part].bytes(), dtype != DType::kBF16) << name_of(dtype) << part;
    }
  }
}

// Backward by FMAs reads what forward by dot products saved.
TEST_F(AttentionByDot, WithAGradientOfAnotherDtype) {
  const AttentionCase c = {"case", 1, 2, 1, 40, 70, 32, 32, true, 30};
  const std::vector<HostTensor> narrow = tensors_of(c, DType::kBF16);
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < narrow.size(); ++i) {
    tensors.emplace_back(i == kGradOutput ? DType::kF32 : narrow[i].view().dtype, narrow[i].view().shape,
                         narrow[i].view().strides);
    for (int64_t e = 0; e < narrow[i].numel(); ++e) tensors[i].set(e, narrow[i].get(e));
  }
  run(c, tensors);
  expect_attention(c, tensors, DType::kBF16);
}

// The output is the key's value whatever the score, so q and k get a gradient of exactly 0.
TEST_F(AttentionByDot, OfASingleKeyHasNoGradientOfItsScore) {
  const std::vector<HostTensor> tensors = run({"single key", 1, 2, 1, 70, 1, 64, 63}, DType::kBF16);
  for (int64_t i = 0; i < tensors[kGradQ].numel(); ++i) ASSERT_EQ(tensors[kGradQ].get(i), 0);
  for (int64_t i = 0; i < tensors[kGradK].numel(); ++i) ASSERT_EQ(tensors[kGradK].get(i), 0);
}

// A NaN reaches the rows that see it, and no others.
TEST_F(AttentionByDot, OfANanIsNanInTheRowsThatSeeIt) {
  const AttentionCase c = {"causal", 1, 1, 1, 40, 40, 64, 64, true};
  std::vector<HostTensor> tensors = tensors_of(c, DType::kBF16);
  tensors[kK].set(20 * 64 + 3, std::nan(""));
  run(c, tensors);
  for (int64_t row = 0; row < 40; ++row) {
    EXPECT_EQ(std::isnan(tensors[kOutput].get(row * 64)), row >= 20) << row;
    EXPECT_EQ(std::isnan(tensors[kLogSums].get(row)), row >= 20) << row;
    EXPECT_EQ(std::isnan(tensors[kGradQ].get(row * 64)), row >= 20) << row;
  }
}

}  // namespace
}  // namespace halftone
