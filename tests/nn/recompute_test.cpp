// Training with recomputation computes bitwise the same as without, and keeps less.
#include "nn/recompute.h"

#include "autograd/gradient_hook.h"
#include "nn/recompute_models.h"

namespace halftone::nn {
namespace {

class RecomputeEqualTest : public RecomputeTest {
 protected:
  // One step of a copy of the model, marked as the rule says, from one state of the generator. Numbers that others draw
  // between forward and backward do not matter.
  StepResult step(const Module& model, const Tensor& input, const Marking* marking, const AutocastPolicy* policy,
                  double scale) {
    const Ref<Module> copy = copy_of(model);
    if (marking != nullptr) {
      EXPECT_EQ(set_recompute(*copy, marking->rule), marking->count);
    }
    context().set_generator(kRoomSeed, 1000);
    const Tensor loss = forward(*copy, input, policy);
    static_cast<void>(context().next_key());
    run_backward(loss, full(device(), loss.dtype(), loss.shape(), scale), false);
    return result_of(*copy, loss);
  }

  void expect_equal(const Module& model, const Tensor& input, const std::vector<Marking>& markings) {
    const Ref<AutocastPolicy> bf16 = make_ref<AutocastPolicy>(DType::kBF16);
    const Ref<AutocastPolicy> f16 = make_ref<AutocastPolicy>(DType::kF16);
    const std::pair<const AutocastPolicy*, double> precisions[] = {{nullptr, 1.0}, {bf16.get(), 1.0}, {f16.get(), 64}};
    for (const auto& [policy, scale] : precisions) {
      const StepResult expected = step(model, input, nullptr, policy, scale);
      for (const auto& [name, gradient] : expected.gradients) EXPECT_FALSE(gradient.empty()) << name;
      for (const Marking& marking : markings) {
        const StepResult actual = step(model, input, &marking, policy, scale);
        EXPECT_TRUE(actual == expected) << (marking.rule.match.kind != nullptr ? marking.rule.match.kind : "any kind")
                                        << " every " << marking.rule.every;
      }
    }
  }
};

TEST_F(RecomputeEqualTest, AnMlpWithDropoutTrainsAlike) {
  expect_equal(*mlp(), noise({5, 6}),
               {{{.match = {.path = "?", .kind = "sequential"}}, 2},
                {{.match = {.path = "1"}}, 1},
                {{.match = {.path = ""}}, 1},
                {{}, 14}});
}

TEST_F(RecomputeEqualTest, ACnnWithBatchNormTrainsAlikeAndCountsItsBatchesOnce) {
  const Ref<Module> model = cnn();
  expect_equal(*model, noise({4, 2, 12, 12}),
               {{{.match = {.path = "?", .kind = "sequential"}}, 2},
                {{.match = {.kind = "batch_norm2d"}}, 2},
                {{.match = {.path = ""}}, 1},
                {{}, 13}});
  const Ref<Module> copy = copy_of(*model);
  set_recompute(*copy, {.match = {.path = ""}});
  run_backward(forward(*copy, noise({4, 2, 12, 12}), nullptr), {}, false);
  EXPECT_EQ(values(copy->buffers()[2].tensor), std::vector<double>{1});
}

TEST_F(RecomputeEqualTest, AGptTrainsAlikeWithAllPolicies) {
  const std::vector<Marking> markings = {{{.match = {.kind = "transformer_block"}}, 3},
                                         {{.match = {.kind = "transformer_block"}, .every = 2}, 2},
                                         {{.match = {.kind = "multihead_attention"}}, 3},
                                         {{.match = {.kind = "feed_forward"}}, 3},
                                         {{.match = {.path = "h.1"}}, 1},
                                         {{.match = {.path = ""}}, 1}};
  expect_equal(*gpt(3), tokens(), markings);
  expect_equal(*llama_like(3), tokens(), markings);
}

// Gradients of the residual stream are rounded to 16 bits in blocks that are computed one by one, and in those that are
// fused with the next.
TEST_F(RecomputeEqualTest, AGptIn16BitsTrainsAlike) {
  const std::vector<Marking> markings = {{{.match = {.kind = "transformer_block"}}, 3}};
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    expect_equal(*gpt(3, dtype), tokens(), markings);
    expect_equal(*llama_like(3, dtype), tokens(), markings);
  }
}

// Several outputs, of which the loss uses one, and an input that is absent.
TEST_F(RecomputeEqualTest, ARecurrentLayerTrainsAlike) {
  for (const CellKind cell : {CellKind::kLstm, CellKind::kGru}) {
    const Ref<Module> layer = make_ref<Recurrent>(
        device(), RecurrentOptions{.cell = cell, .input_size = 3, .hidden_size = 4, .num_layers = 2, .dropout = 0.3});
    expect_equal(*chain({layer, linear(4, 2)}), noise({2, 5, 3}),
                 {{{.match = {.path = "0"}}, 1}, {{.match = {.path = ""}}, 1}});
  }
}

TEST_F(RecomputeEqualTest, GradientsAddUpOverSeveralBackwards) {
  const auto train = [&](bool marks) {
    const Ref<Module> model = gpt(2);
    context().set_generator(kRoomSeed, 50);
    const Ref<Module> copy = copy_of(*model);
    if (marks) set_recompute(*copy, {.match = {.kind = "transformer_block"}});
    Tensor loss;
    for (int round = 0; round < 3; ++round) {
      loss = forward(*copy, tokens(), nullptr);
      run_backward(loss, {}, true);
      run_backward(loss, {}, round == 1);
    }
    return result_of(*copy, loss);
  };
  context().set_generator(kRoomSeed, 10);
  const StepResult expected = train(false);
  context().set_generator(kRoomSeed, 10);
  EXPECT_TRUE(train(true) == expected);
}

TEST_F(RecomputeEqualTest, GradientsOfChosenTensorsAreAlikeAndLeaveNothingBehind) {
  const Ref<Module> model = mlp();
  const auto gradients = [&](bool marks) {
    set_recompute(*model, {.match = {.path = "?", .kind = "sequential"}, .every = marks ? 1 : 0});
    context().set_generator(kRoomSeed, 10);
    const Tensor input = noise({5, 6});
    set_requires_grad(input, true);
    const Tensor middle = model->child(0)->run(input);
    const Tensor loss = loss_of(model->child(2)->run(model->child(1)->run(middle)));
    std::vector<double> all;
    for (const bool retains : {true, false}) {
      for (const Tensor& gradient :
           run_gradients({.outputs = {loss}, .gradients = {}, .inputs = {input, middle}, .retain_graph = retains})) {
        for (const double value : values(gradient)) all.push_back(value);
      }
    }
    return all;
  };
  const std::vector<double> expected = gradients(false);
  EXPECT_EQ(gradients(true), expected);
  EXPECT_EQ(expected.size(), 2u * (30 + 50));
}

TEST_F(RecomputeEqualTest, TiedWeightsGatherTheGradientsOfAllPlaces) {
  const Ref<Module> shared = chain({linear(6, 6), make_ref<Tanh>()});
  const Ref<Module> model = chain({shared, make_ref<Dropout>(0.5), shared, shared});
  expect_equal(*model, noise({5, 6}), {{{.match = {.path = "0"}}, 1}, {{.match = {.path = ""}}, 1}});
}

// Hooks on the input of a block and on a tensor inside, added by the forward: those of the second forward are not
// called.
TEST_F(RecomputeEqualTest, HooksSeeTheSameGradients) {
  const Ref<Module> model = mlp();
  const auto seen = [&](bool marks) {
    set_recompute(*model, {.match = {.path = "?", .kind = "sequential"}, .every = marks ? 1 : 0});
    context().set_generator(kRoomSeed, 10);
    std::vector<double> all;
    std::vector<Ref<Hook>> hooks;
    const auto watch = [&](const Tensor& tensor) {
      hooks.push_back(add_gradient_hook(tensor, [&](const Tensor& gradient) {
        for (const double value : values(gradient)) all.push_back(value);
        return ops::rescale(gradient, 0.5, 0.0);
      }));
    };
    auto& first = const_cast<Module&>(*model->find("1.0"));
    const Ref<Hook> hook = first.forward_hooks().add(
        [&](const Module&, std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<Tensor>) {
          watch(inputs[0]);
          watch(outputs[0]);
        });
    run_backward(forward(*model, noise({5, 6}), nullptr), {}, false);
    hook->remove();
    EXPECT_EQ(hooks.size(), marks ? 4u : 2u);
    for (const NamedParameter& named : model->parameters()) {
      for (const double value : gradient_of(*named.parameter)) all.push_back(value);
      named.parameter->zero_grad();
    }
    return all;
  };
  const std::vector<double> expected = seen(false);
  EXPECT_EQ(seen(true), expected);
}

TEST_F(RecomputeEqualTest, AReleasedModelIsThereForItsBackward) {
  const Ref<Module> model = mlp();
  const StepResult expected = step(*model, noise({5, 6}), nullptr, nullptr, 1.0);
  Ref<Module> copy = copy_of(*model);
  set_recompute(*copy, {.match = {.path = "?"}});
  std::vector<NamedParameter> parameters = copy->parameters();
  context().set_generator(kRoomSeed, 1000);
  const Tensor loss = forward(*copy, noise({5, 6}), nullptr);
  copy = nullptr;
  run_backward(loss, {}, false);
  for (const NamedParameter& named : parameters) {
    EXPECT_EQ(gradient_of(*named.parameter), expected.gradients.at(named.name)) << named.name;
  }
}

// The bytes of activations that forward leaves for backward, and the most that a step needs at once.
struct Footprint {
  int64_t kept;
  int64_t peak;
};

class RecomputeMemoryTest : public RecomputeTest {
 protected:
  Footprint footprint(int64_t layers, const RecomputeRule& rule, bool retains = false) {
    TransformerOptions options = gpt_options(layers);
    options.attention.width = 64;
    options.hidden = 256;
    const Ref<Module> model = make_ref<Transformer>(device(), options);
    if (rule.match.kind != nullptr) set_recompute(*model, rule);
    const Tensor input = tokens();
    const CachingAllocator& allocator = *device().allocator;
    for (const NamedParameter& named : model->parameters()) named.parameter->accumulator().memory().allocate();
    const int64_t before = allocator.stats().current;
    device().allocator->reset_peak();
    const Tensor loss = forward(*model, input, nullptr);
    const int64_t kept = allocator.stats().current - before;
    run_backward(loss, {}, retains);
    return {.kept = kept, .peak = allocator.stats().peak - before};
  }
  static constexpr int64_t kInput = 3 * 7 * 64 * 4;  // bytes of a block's input
};

TEST_F(RecomputeMemoryTest, FullRecomputationKeepsTheInputsOfTheBlocksAndTheInsideOfOne) {
  const RecomputeRule blocks = {.match = {.kind = "transformer_block"}};
  const Footprint two = footprint(2, blocks), ten = footprint(10, blocks);
  EXPECT_EQ(ten.kept - two.kept, 8 * kInput);
  EXPECT_EQ(ten.peak - two.peak, 8 * kInput);
  const Footprint plain_two = footprint(2, {}), plain_ten = footprint(10, {});
  EXPECT_GE(plain_ten.kept - plain_two.kept, 8 * 12 * kInput);
  EXPECT_LE(two.peak, plain_two.peak + kInput);
}

TEST_F(RecomputeMemoryTest, EverySecondBlockKeepsHalfOfTheInsides) {
  const RecomputeRule blocks = {.match = {.kind = "transformer_block"}, .every = 2};
  const int64_t kept = footprint(10, blocks).kept - footprint(2, blocks).kept;
  const int64_t plain = footprint(10, {}).kept - footprint(2, {}).kept;
  EXPECT_EQ(kept, plain / 2 + 4 * kInput);
}

// Queries, keys and values. The attention's result, which the second projection reads, stays.
TEST_F(RecomputeMemoryTest, AttentionAloneSavesItsOperandsInEachBlock) {
  const RecomputeRule attention = {.match = {.kind = "multihead_attention"}};
  const int64_t kept = footprint(10, attention).kept - footprint(2, attention).kept;
  const int64_t plain = footprint(10, {}).kept - footprint(2, {}).kept;
  EXPECT_EQ(kept, plain - 8 * 3 * kInput);
}

// The tensors that were made again go with the backward of the operation that needs them, not with the graph.
TEST_F(RecomputeMemoryTest, ARetainedGraphKeepsNothingMore) {
  const RecomputeRule blocks = {.match = {.kind = "transformer_block"}};
  EXPECT_EQ(footprint(10, blocks, true).peak - footprint(2, blocks, true).peak, 8 * kInput);
  const Ref<Module> model = gpt(4);
  set_recompute(*model, blocks);
  for (const NamedParameter& named : model->parameters()) named.parameter->accumulator().memory().allocate();
  const Tensor loss = forward(*model, tokens(), nullptr);
  const int64_t kept = device().allocator->stats().current;
  run_backward(loss, {}, true);
  EXPECT_EQ(device().allocator->stats().current, kept);
}

// The second forward makes the tensors of operations that lead nowhere, too. They go with their module.
TEST_F(RecomputeMemoryTest, WhatNoGradientNeedsDoesNotGatherDuringBackward) {
  class Wasteful final : public Layer {
   public:
    const char* kind() const noexcept override { return "wasteful"; }
    Tensor forward(const Tensor& input) const override {
      ops::exp(ops::exp(input));
      return ops::tanh(input);
    }
  };
  const auto peak_of = [&](int layers) {
    const Tensor x = noise({1000});
    set_requires_grad(x, true);
    accumulator_of(x)->memory().allocate();
    std::vector<Ref<Module>> modules;
    for (int i = 0; i < layers; ++i) modules.push_back(make_ref<Wasteful>());
    for (const Ref<Module>& module : modules) module->set_recompute(true);
    const int64_t before = device().allocator->stats().current;
    device().allocator->reset_peak();
    run_backward(chain(modules)->run(x), noise({1000}), false);
    return device().allocator->stats().peak - before;
  };
  EXPECT_EQ(peak_of(12) - peak_of(4), 8 * 4000);
}

}  // namespace
}  // namespace halftone::nn
