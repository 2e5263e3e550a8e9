// Multiplications of a training step, counted where products run: backward has twice those of forward, and
// recomputation adds less than those of one forward.
#include <gtest/gtest.h>

#include "nn/recompute_models.h"
#include "probe_device.h"

namespace halftone::nn {
namespace {

GemmKernels counted_gemm;
int64_t multiplications;

Status run_and_multiply(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept {
  multiplications += args.a.shape[0] * args.a.shape[1] * args.b.shape[1];
  return counted_gemm.run(stream, args, schedule, workspace);
}

struct Work {
  int64_t forward = 0, backward = 0;
};

class RecomputeWorkTest : public RecomputeTest {
 protected:
  // Counts products of two matrices: those of attention's scores are in kernels of their own.
  Work work_of(const Module& model, const Tensor& input) {
    ProbeDevice probe(device());
    counted_gemm = probe.table().gemm;
    probe.table().gemm.run = run_and_multiply;
    multiplications = 0;
    const Tensor loss = loss_of(model.run(input));
    Work work = {.forward = multiplications};
    run_backward(loss, {}, false);
    work.backward = multiplications - work.forward;
    return work;
  }

  Tensor rows() {
    const Tensor input = noise({8, 32});
    set_requires_grad(input, true);
    return input;
  }
  Ref<Module> layers() {
    std::vector<Ref<Module>> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(chain({linear(32, 32), make_ref<Tanh>(), linear(32, 32)}));
    return chain(blocks);
  }
};

TEST_F(RecomputeWorkTest, ForwardMultipliesOnceAndBackwardTwiceForEachWeightAndRow) {
  const Work work = work_of(*layers(), rows());
  EXPECT_EQ(work.forward, int64_t{8} * 8 * 32 * 32);
  EXPECT_EQ(work.backward, 2 * work.forward);
}

// A block's last product is not needed for backward.
TEST_F(RecomputeWorkTest, RecomputationAddsTheProductsWhoseResultsBackwardReads) {
  const Ref<Module> model = layers();
  const Work plain = work_of(*model, rows());
  EXPECT_EQ(set_recompute(*model, {.match = {.path = "?"}}), 4);
  const Work again = work_of(*model, rows());
  EXPECT_EQ(again.forward, plain.forward);
  EXPECT_EQ(again.backward, plain.backward + plain.forward / 2);
}

// c_attn, c_proj and c_fc of a block, without the second c_proj: 8 of 12 squares of the width.
TEST_F(RecomputeWorkTest, OfTransformerBlocksAddsTwoThirdsOfTheirForward) {
  const auto work_with = [&](int64_t layers, bool recomputes) {
    const Ref<Module> model = gpt(layers);
    if (recomputes) set_recompute(*model, {.match = {.kind = "transformer_block"}});
    return work_of(*model, tokens());
  };
  const auto work_of_blocks = [&](bool recomputes) {
    const Work six = work_with(6, recomputes), two = work_with(2, recomputes);
    return Work{.forward = six.forward - two.forward, .backward = six.backward - two.backward};
  };
  const Work plain = work_of_blocks(false), again = work_of_blocks(true);
  EXPECT_EQ(plain.forward, int64_t{4} * 12 * 8 * 8 * 21);
  EXPECT_EQ(plain.backward, 2 * plain.forward);
  EXPECT_EQ(again.forward, plain.forward);
  EXPECT_EQ(again.backward, plain.backward + 2 * plain.forward / 3);
}

}  // namespace
}  // namespace halftone::nn
