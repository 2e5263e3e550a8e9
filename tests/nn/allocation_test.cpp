// Heap allocations of one recorded forward, when the allocator of tensors has memory in its cache. A tensor is two: its
// body and its storage.
#include "autograd/weights/weights.h"
#include "failing_allocations.h"
#include "nn/conv.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/norms.h"
#include "nn/transformer/transformer.h"
#include "ops/conv/conv.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone::nn {
namespace {

// The number that was reached. A change that needs more of them says why. Two are for each gradient, whose memory
// zero_grad releases.
constexpr int64_t kStepOfTwoBlocks = 330;

class AllocationTest : public RoomTest {
 protected:
  // Keeps the copies that an optimizer would keep.
  static void make_copies(const Module& layer) {
    for (const NamedParameter& named : layer.parameters()) {
      named.parameter->weights().set_compute(converted(named.parameter->weights().master(), DType::kBF16));
    }
  }
  static int64_t allocations_in_forward(const Layer& layer, const Tensor& input, const AutocastPolicy* policy) {
    const ScopeGuard restore;
    scope().autocast = policy;
    layer.run(input);
    fail_allocation(-1, 0);
    const Tensor output = layer.run(input);
    ignore_allocations();
    EXPECT_TRUE(requires_grad(output));
    return allocations_counted();
  }

  AutocastPolicy bf16_{DType::kBF16};
};

// Result and node.
TEST_F(AllocationTest, ARecordedLinearMakesThreeAtMost) {
  const Linear layer(device(), 64, 64, true, DType::kF32);
  const Tensor input = full(device(), DType::kF32, {64, 64}, 0.5);
  EXPECT_LE(allocations_in_forward(layer, input, nullptr), 3);
}

// Also the input's rows as a matrix, which backward reads. The result's rows need no tensor of their own.
TEST_F(AllocationTest, ARecordedLinearOverASequenceMakesFourAtMost) {
  const Linear layer(device(), 64, 64, true, DType::kF32);
  const Tensor input = full(device(), DType::kF32, {2, 32, 64}, 0.5);
  EXPECT_LE(allocations_in_forward(layer, input, nullptr), 4);
}

// The cast input as well. The parameters keep the leaves and the copies that stand for them.
TEST_F(AllocationTest, ARecordedLinearUnderAutocastMakesFiveAtMost) {
  const Linear layer(device(), 64, 64, true, DType::kF32);
  make_copies(layer);
  const Tensor input = full(device(), DType::kF32, {64, 64}, 0.5);
  EXPECT_LE(allocations_in_forward(layer, input, &bf16_), 5);
}

TEST_F(AllocationTest, ARecordedConv2dUnderAutocastMakesFiveAtMost) {
  const auto convolve = [](const Tensor& x, const Tensor& w, const Tensor& b) { return ops::conv2d(x, w, b, {}); };
  const Conv layer(device(), Op::kConv2d, convolve,
                   {.weight = {8, 8, 3, 3}, .out_channels = 8, .bias = true, .dtype = DType::kF32});
  make_copies(layer);
  const Tensor input = full(device(), DType::kF32, {2, 8, 16, 16}, 0.5);
  EXPECT_LE(allocations_in_forward(layer, input, &bf16_), 5);
}

// Result, statistics and node. The kernel reads BF16 and the FP32 weights as they are.
TEST_F(AllocationTest, ARecordedLayerNormUnderAutocastMakesFiveAtMost) {
  const LayerNorm layer({64}, 1e-5, Affine::make(device(), {64}, DType::kF32, true, true));
  make_copies(layer);
  const Tensor input = full(device(), DType::kBF16, {64, 64}, 0.5);
  EXPECT_LE(allocations_in_forward(layer, input, &bf16_), 5);
}

// Forward and backward. A step makes as many as the one before it, so that nothing grows.
TEST_F(AllocationTest, AStepOfATransformerMakesTheSameNumberEachTime) {
  TransformerOptions options;
  options.attention = {.width = 8, .heads = 2, .kv_heads = 2, .is_causal = true, .dropout = 0.0};
  options.hidden = 32;
  options.layers = 2;
  options.vocabulary = 11;
  options.positions = 9;
  const Transformer model(device(), options);
  const Tensor tokens = full(device(), DType::kI64, {3, 7}, 4.0);
  std::vector<int64_t> counts;
  for (int step = 0; step < 4; ++step) {
    for (const NamedParameter& named : model.parameters()) named.parameter->zero_grad();
    fail_allocation(-1, 0);
    run_backward(ops::sum(static_cast<const Module&>(model).run(tokens), {}, false), Tensor(), false);
    ignore_allocations();
    counts.push_back(allocations_counted());
  }
  EXPECT_EQ(counts[2], counts[3]);
  EXPECT_LE(counts[3], kStepOfTwoBlocks);
}

}  // namespace
}  // namespace halftone::nn
