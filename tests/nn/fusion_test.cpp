// Parts of a transformer that are computed in one operation, against the same parts one by one, which is how they run
// while they have hooks.
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "nn/recompute_models.h"

namespace halftone::nn {
namespace {

using Names = std::multiset<std::string>;

class FusionTest : public RecomputeTest {
 protected:
  static TransformerOptions options_of(NormKind norm, NormPlacement placement, FeedForwardKind form) {
    TransformerOptions options = gpt_options(2);
    options.norm_kind = norm;
    options.norm_placement = placement;
    options.feed_forward = form;
    return options;
  }

  // A hook that changes nothing, on every module whose kind this is.
  static void hook(const Module& module, const char* kind) {
    if (std::strcmp(module.kind(), kind) == 0) {
      const_cast<Module&>(module).forward_hooks().add([](const auto&, auto, auto, auto) {});
    }
    for (size_t i = 0; const Module* child = module.child(i); ++i) hook(*child, kind);
  }
  static const std::vector<const char*>& fused_kinds() {
    static const std::vector<const char*> kinds = {"layer_norm", "rms_norm"};
    return kinds;
  }

  // The names of the operations behind a tensor, each node once.
  static Names operations_behind(const Tensor& tensor) {
    std::set<const Node*> met;
    std::vector<const Node*> found = {node_of(tensor)};
    Names names;
    while (!found.empty()) {
      const Node* node = found.back();
      found.pop_back();
      if (node == nullptr || !met.insert(node).second) continue;
      names.insert(node->name());
      for (const Edge& edge : node->edges()) found.push_back(edge.node.get());
    }
    return names;
  }

  StepResult step(const Module& model, const AutocastPolicy* policy, Names* names) {
    for (const NamedParameter& named : model.parameters()) named.parameter->zero_grad();
    context().set_generator(kRoomSeed, 1000);
    const Tensor loss = forward(model, tokens(), policy);
    *names = operations_behind(loss);
    run_backward(loss, Tensor(), false);
    StepResult result = result_of(model, loss);
    result.sequences = 0;
    return result;
  }

  // A hook on the output layers of the feed-forward parts of two blocks.
  static void hook_outputs(const Module& model) {
    for (const char* path : {"h.0.mlp.c_proj", "h.1.mlp.c_proj"}) hook(*model.find(path), "linear");
  }

  // Takes a step with the activations in the layers that read them, and then apart.
  void expect_same_bits_of_activations(FeedForwardKind form, const AutocastPolicy* policy) {
    const Ref<Module> model = make_ref<Transformer>(device(), options_of(NormKind::kLayer, NormPlacement::kPre, form));
    Names fused_names, plain_names;
    const StepResult fused = step(*model, policy, &fused_names);
    hook_outputs(*model);
    const StepResult plain = step(*model, policy, &plain_names);
    EXPECT_EQ(fused_names.count("activation_linear"), 2u);
    EXPECT_EQ(fused_names.count("gelu"), 0u);
    EXPECT_EQ(plain_names.count("activation_linear"), 0u);
    EXPECT_EQ(plain_names.count("gelu"), 2u);
    EXPECT_EQ(fused.loss, plain.loss);
    EXPECT_EQ(fused.gradients, plain.gradients);
  }

  // Takes a step fused, and then plain.
  void expect_same_bits(const TransformerOptions& options, const AutocastPolicy* policy, size_t fewer_sums,
                        size_t fewer_casts = 0) {
    const Ref<Module> model = make_ref<Transformer>(device(), options);
    Names fused_names, plain_names;
    const StepResult fused = step(*model, policy, &fused_names);
    for (const char* kind : fused_kinds()) hook(*model, kind);
    const StepResult plain = step(*model, policy, &plain_names);
    EXPECT_EQ(fused_names.count("add") + fewer_sums, plain_names.count("add"));
    EXPECT_EQ(fused_names.count("cast") + fewer_casts, plain_names.count("cast"));
    EXPECT_EQ(fused.loss, plain.loss);
    EXPECT_EQ(fused.gradients, plain.gradients);
  }
};

// Two blocks have four sums. Before the parts, the norms of the blocks read all but the last.
TEST_F(FusionTest, SumsAndNormsGiveTheSameBitsTogetherAndApart) {
  for (const NormKind norm : {NormKind::kLayer, NormKind::kRms}) {
    expect_same_bits(options_of(norm, NormPlacement::kPre, FeedForwardKind::kGelu), nullptr, 3);
    expect_same_bits(options_of(norm, NormPlacement::kPost, FeedForwardKind::kGelu), nullptr, 4);
  }
}

TEST_F(FusionTest, SumsAndNormsGiveTheSameBitsTogetherAndApartUnderAutocast) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const AutocastPolicy policy(dtype);
    // No sum casts a part's result, and a norm before one linear layer has that layer's dtype.
    expect_same_bits(options_of(NormKind::kLayer, NormPlacement::kPre, FeedForwardKind::kGelu), &policy, 3, 6);
    expect_same_bits(options_of(NormKind::kRms, NormPlacement::kPre, FeedForwardKind::kSwiGlu), &policy, 3, 4);
    expect_same_bits(options_of(NormKind::kLayer, NormPlacement::kPost, FeedForwardKind::kGelu), &policy, 4, 4);
  }
}

TEST_F(FusionTest, AHookOfTheReaderSeesTheNormBeforeItsCast) {
  const Ref<Module> model = gpt(2);
  const AutocastPolicy policy(DType::kBF16);
  std::vector<DType> seen;
  for (const char* path : {"h.1.attn.c_attn", "h.1.mlp"}) {
    const_cast<Module&>(*model->find(path)).forward_pre_hooks().add([&](const auto&, auto inputs, auto) {
      seen.push_back(inputs[0].dtype());
    });
  }
  Names names;
  step(*model, &policy, &names);
  EXPECT_EQ(seen, std::vector<DType>({DType::kF32, DType::kF32}));
}

// The linear layers do not cast, or the norm is not in FP32.
TEST_F(FusionTest, ANormIsCastToNoOtherDtypeThanItsReaderDoes) {
  AutocastPolicy wide(DType::kBF16), narrow(DType::kBF16);
  wide.set(Op::kLinear, AutocastClass::kFp32);
  narrow.set(Op::kLayerNorm, AutocastClass::kAsIs);
  for (const AutocastPolicy* policy : {&wide, &narrow}) {
    expect_same_bits(options_of(NormKind::kLayer, NormPlacement::kPre, FeedForwardKind::kGelu), policy, 3,
                     policy == &narrow ? 6 : 0);
  }
}

// The policy wants sums in low precision, which the fused operation does not make.
TEST_F(FusionTest, APolicyThatCastsSumsKeepsThemApart) {
  AutocastPolicy policy(DType::kBF16);
  policy.set(Op::kAdd, AutocastClass::kLow);
  expect_same_bits(options_of(NormKind::kLayer, NormPlacement::kPre, FeedForwardKind::kGelu), &policy, 0);
}

TEST_F(FusionTest, ActivationsAndLayersGiveTheSameBitsTogetherAndApart) {
  const AutocastPolicy bf16(DType::kBF16), f16(DType::kF16);
  for (const AutocastPolicy* policy : {static_cast<const AutocastPolicy*>(nullptr), &bf16, &f16}) {
    expect_same_bits_of_activations(FeedForwardKind::kGelu, policy);
    expect_same_bits_of_activations(FeedForwardKind::kGeluTanh, policy);
  }
}

// The policy wants another dtype for one of the two.
TEST_F(FusionTest, APolicyOfItsOwnForAnActivationKeepsItApart) {
  AutocastPolicy wide(DType::kBF16), linear(DType::kBF16);
  wide.set(Op::kGelu, AutocastClass::kFp32);
  linear.set(Op::kLinear, AutocastClass::kFp32);
  const Ref<Module> model = gpt(2);
  for (const AutocastPolicy* policy : {&wide, &linear}) {
    Names names;
    step(*model, policy, &names);
    EXPECT_EQ(names.count("activation_linear"), 0u);
    EXPECT_EQ(names.count("gelu"), 2u);
  }
}

TEST_F(FusionTest, ABlockWithAHookGivesItsSumToTheHook) {
  const Ref<Module> model = gpt(2);
  std::vector<Shape> shapes;
  Module& first = const_cast<Module&>(*model->find("h.0"));
  first.forward_hooks().add([&](const auto&, auto, auto outputs, auto) { shapes.push_back(outputs[0].shape()); });
  Names names;
  step(*model, nullptr, &names);
  EXPECT_EQ(shapes, std::vector<Shape>({Shape{3, 7, 8}}));
}

TEST_F(FusionTest, AHookMayReplaceAPartsResultByOneThatRepeats) {
  const Ref<Module> model = gpt(2);
  const Tensor row = full(device(), DType::kF32, {1, 1, 8}, 0.5);
  const auto replace = [&](const auto&, auto, auto, auto replacements) { replacements[0] = row; };
  const_cast<Module&>(*model->find("h.0.attn")).forward_hooks().add(replace);
  const_cast<Module&>(*model->find("h.0.mlp")).forward_hooks().add(replace);
  EXPECT_EQ(model->run(tokens()).shape(), (Shape{3, 7, 11}));
}

TEST_F(FusionTest, AnErrorInAFusedPartNamesThatPart) {
  const Ref<Module> model = gpt(1);
  const Tensor narrow = full(device(), DType::kF32, {3, 7, 4}, 0.5);
  const_cast<Module&>(*model->find("h")).forward_pre_hooks().add([&](const auto&, auto, auto replacements) {
    replacements[0] = narrow;
  });
  try {
    model->run(tokens());
    FAIL() << "a stream that is too narrow was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("layer h.0.ln_1 (layer_norm)"), std::string::npos) << error.what();
  }
}

TEST_F(FusionTest, AnErrorInALayerWithItsActivationNamesThatLayer) {
  const Ref<Module> model = gpt(1);
  const Tensor narrow = full(device(), DType::kF32, {3, 7, 4}, 0.5);
  const_cast<Module&>(*model->find("h.0.mlp.c_fc"))
      .forward_hooks()
      .add([&](const auto&, auto, auto, auto replacements) { replacements[0] = narrow; });
  try {
    model->run(tokens());
    FAIL() << "an argument that is too narrow was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("layer h.0.mlp.c_proj (linear)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace halftone::nn
