// Recipes of modules: which one holds, delayed scaling with its history, and recomputation under a recipe.
// tests/ops/recipe_test.cpp has the products.
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/own_recipe.h"
#include "nn/part_copies.h"
#include "nn/recompute.h"
#include "nn/sequential.h"
#include "nn/state.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"
#include "room_fixture.h"

namespace halftone::nn {
namespace {

using Values = std::vector<double>;

constexpr RecipeOptions kNvfp4 = {.kind = RecipeKind::kNvfp4, .gradient_format = NumberFormat::kE4M3};
constexpr RecipeOptions kDelayed = {
    .kind = RecipeKind::kDelayed, .gradient_format = NumberFormat::kE5M2, .history_length = 4};

class ModuleRecipe : public RoomTest {
 protected:
  ModuleRecipe() { scope().autocast = &policy_; }

  Ref<Linear> linear(int64_t in, int64_t out) { return make_ref<Linear>(device(), in, out, true, DType::kF32); }
  Ref<Sequential> chain() { return make_ref<Sequential>(std::vector<Ref<Module>>{linear(32, 48), linear(48, 16)}); }
  Tensor input(double amax = 1) {
    Values values(5 * 32);
    for (size_t i = 0; i < values.size(); ++i) values[i] = amax * std::sin(0.7 * static_cast<double>(i));
    values[3] = amax;
    return tensor({5, 32}, values, DType::kBF16);
  }
  static Values buffer(const Module& module, const std::string& name) {
    for (const NamedBuffer& each : module.buffers()) {
      if (each.name == name) return values(each.tensor);
    }
    return {};
  }

  const ScopeGuard restore_;
  AutocastPolicy policy_{DType::kBF16};
};

TEST_F(ModuleRecipe, OfTheInnermostModuleHolds) {
  const Ref<Sequential> model = chain();
  const Ref<Recipe> recipe = make_ref<Recipe>(kNvfp4);
  const Values without = values(model->run(input()));
  policy_.set_recipe(recipe);
  const Values with = values(model->run(input()));
  EXPECT_NE(with, without);
  EXPECT_EQ(set_own_recipes(*model, {.kind = "linear"}, nullptr), 2);
  EXPECT_EQ(values(model->run(input())), without);
  EXPECT_EQ(set_own_recipes(*model, {.path = "1"}, recipe), 1);
  const Values second = values(model->run(input()));
  EXPECT_NE(second, without);
  EXPECT_NE(second, with);
  EXPECT_EQ(values(copy_of(*model)->run(input())), second);
  EXPECT_EQ(clear_own_recipes(*model, {}), 3);
  EXPECT_EQ(values(model->run(input())), with);
  policy_.set_recipe(nullptr);
  EXPECT_EQ(set_own_recipes(*model, {.path = ""}, recipe), 1);
  EXPECT_EQ(values(model->run(input())), with) << "of the module around them";
}

// The scales of 448 / factor for the factors in docs/low-precision.md; the first forward has none yet.
TEST_F(ModuleRecipe, DelayedScalesFollowTheHistory) {
  const Ref<Linear> layer = linear(32, 8);
  set_own_recipes(*layer, {}, make_ref<Recipe>(kDelayed));
  const Values amax = {1, 2, 0.5, 0.25, 0.25, 0.25, 0.25, 1};
  const Values factors = {1, 448, 224, 224, 224, 224, 896, 1792};
  for (size_t i = 0; i < amax.size(); ++i) {
    layer->run(input(amax[i]));
    EXPECT_EQ(buffer(*layer, "amax_scale")[0], static_cast<float>(1 / factors[i])) << i;
    EXPECT_EQ(buffer(*layer, "amax_history")[0], amax[i]) << i;
  }
}

TEST_F(ModuleRecipe, AnAmaxThatIsNoSizeLeavesTheScale) {
  const Ref<Linear> layer = linear(32, 8);
  RecipeOptions options = kDelayed;
  options.takes_newest = true;
  options.margin = 1;
  set_own_recipes(*layer, {}, make_ref<Recipe>(options));
  for (const double amax : {2.0, 0.0, HUGE_VAL, double(NAN), 1.0}) layer->run(input(amax));
  EXPECT_EQ(buffer(*layer, "amax_scale")[0], 2 * (2.0f / 448));
  layer->run(input());
  EXPECT_EQ(buffer(*layer, "amax_scale")[0], 2 * (1.0f / 448));
}

TEST_F(ModuleRecipe, AGradientHasAHistoryOfItsOwn) {
  const Ref<Linear> layer = linear(32, 8);
  set_own_recipes(*layer, {}, make_ref<Recipe>(kDelayed));
  for (int i = 0; i < 2; ++i) {
    run_backward(layer->run(input()), full(device(), DType::kBF16, {5, 8}, 0.5), false);
  }
  EXPECT_EQ(buffer(*layer, "amax_history"), (Values{1, 1, 0, 0, 0.5, 0.5, 0, 0}));
  EXPECT_EQ(buffer(*layer, "amax_scale"), (Values{1.0f / 448, 0.5f / 57344}));
}

TEST_F(ModuleRecipe, AForwardThatRecordsNothingReadsTheScale) {
  const Ref<Linear> layer = linear(32, 8);
  set_own_recipes(*layer, {}, make_ref<Recipe>(kDelayed));
  for (int i = 0; i < 2; ++i) layer->run(input(2));
  const Values history = buffer(*layer, "amax_history"), scales = buffer(*layer, "amax_scale");
  scope().grad_enabled = false;
  layer->run(input(7));
  EXPECT_EQ(buffer(*layer, "amax_history"), history);
  EXPECT_EQ(buffer(*layer, "amax_scale"), scales);
}

// Several threads may evaluate one model, also where they record.
TEST_F(ModuleRecipe, EvaluationReadsTheScale) {
  const Ref<Linear> layer = linear(32, 8);
  set_own_recipes(*layer, {}, make_ref<Recipe>(kDelayed));
  for (int i = 0; i < 2; ++i) layer->run(input(2));
  const Values history = buffer(*layer, "amax_history"), scales = buffer(*layer, "amax_scale");
  layer->set_training(false);
  run_backward(layer->run(input(7)), full(device(), DType::kBF16, {5, 8}, 0.5), false);
  EXPECT_EQ(buffer(*layer, "amax_history"), history);
  EXPECT_EQ(buffer(*layer, "amax_scale"), scales);
}

TEST_F(ModuleRecipe, AMarginAtTheEndsOfTheRangeGivesAFiniteScale) {
  for (const int32_t margin : {64, -64}) {
    RecipeOptions options = kDelayed;
    options.margin = margin;
    const Ref<Linear> layer = linear(32, 8);
    set_own_recipes(*layer, {}, make_ref<Recipe>(options));
    for (int i = 0; i < 2; ++i) layer->run(input(margin > 0 ? 1e22 : 1e-22));
    const double scale = buffer(*layer, "amax_scale")[0];
    EXPECT_TRUE(scale > 0 && std::isfinite(scale)) << scale;
  }
}

TEST_F(ModuleRecipe, ALayerWithoutAHistoryIsRefusedUnderDelayedScaling) {
  policy_.set_recipe(make_ref<Recipe>(kDelayed));
  const Ref<Sequential> model = chain();
  EXPECT_EQ(code_of([&] { model->run(input()); }), Code::kState);
  set_own_recipes(*model, {.path = ""}, make_ref<Recipe>(kDelayed));
  EXPECT_EQ(code_of([&] { model->run(input()); }), Code::kState);
  set_own_recipes(*model, {.kind = "linear"}, make_ref<Recipe>(kDelayed));
  EXPECT_EQ(code_of([&] { model->run(input()); }), Code::kOk);
}

TEST_F(ModuleRecipe, HistoriesAreBuffersThatACopyHasForItself) {
  const Ref<Linear> layer = linear(32, 8);
  EXPECT_TRUE(layer->buffers().empty());
  set_own_recipes(*layer, {}, make_ref<Recipe>(kDelayed));
  layer->run(input(2));
  const Ref<Module> copy = copy_of(*layer);
  const Values history = buffer(*layer, "amax_history");
  EXPECT_EQ(buffer(*copy, "amax_history"), history);
  copy->run(input(3));
  EXPECT_EQ(buffer(*layer, "amax_history"), history);
  EXPECT_NE(buffer(*copy, "amax_history"), history);
  set_own_recipes(*layer, {}, make_ref<Recipe>(kDelayed));
  EXPECT_EQ(buffer(*layer, "amax_history"), history) << "of the same length";
}

// Backward of linear layers and relus keeps codes with their scales, and one bit for each element of a relu.
TEST_F(ModuleRecipe, AnMlpKeepsCodesAndBits) {
  constexpr int64_t kRows = 128, kIn = 256, kHidden = 512, kOut = 16;
  const auto kept_by = [&](RecipeKind kind) {
    const bool has_recipe = kind != RecipeKind{};
    policy_.set_recipe(
        has_recipe ? make_ref<Recipe>(RecipeOptions{.kind = kind, .gradient_format = NumberFormat::kE4M3}) : nullptr);
    const Ref<Sequential> model = make_ref<Sequential>(std::vector<Ref<Module>>{
        linear(kIn, kHidden), make_ref<Relu>(), linear(kHidden, kHidden), make_ref<Relu>(), linear(kHidden, kOut)});
    const Tensor x = full(device(), DType::kF32, {kRows, kIn}, 0.5);
    const auto activations = [&] {
      return device().allocator->stats().by_category[static_cast<int>(Category::kActivations)];
    };
    const int64_t before = activations();
    const Tensor y = model->run(x);
    return activations() - before - y.numel() * 2;
  };
  constexpr int64_t kElements = kRows * (kIn + 2 * kHidden), kBits = kRows * 2 * kHidden / 8;
  constexpr int64_t kScales = 3 * 4;  // of whole tensors
  const int64_t bf16 = kept_by(RecipeKind{});
  EXPECT_EQ(bf16, 2 * kElements);
  EXPECT_EQ(kept_by(RecipeKind::kCurrent), kElements + kScales + kBits);
  EXPECT_EQ(kept_by(RecipeKind::kBlock), kElements + kElements / 128 * 4 + kBits);
  EXPECT_EQ(kept_by(RecipeKind::kMxfp8), kElements + kElements / 32 + kBits);
  EXPECT_EQ(kept_by(RecipeKind::kNvfp4), kElements / 2 + kElements / 16 + kScales + kBits);
  EXPECT_LE(static_cast<double>(kept_by(RecipeKind::kMxfp8)), 0.6 * static_cast<double>(bf16)) << "the largest";
}

// Two equal models, of which one recomputes its layers, give equal gradients.
TEST_F(ModuleRecipe, RecomputationRepeatsTheCodes) {
  for (const RecipeKind kind :
       {RecipeKind::kCurrent, RecipeKind::kDelayed, RecipeKind::kBlock, RecipeKind::kMxfp8, RecipeKind::kNvfp4}) {
    const Ref<Recipe> recipe =
        make_ref<Recipe>(RecipeOptions{.kind = kind, .gradient_format = NumberFormat::kE5M2, .history_length = 2});
    const Ref<Sequential> model = chain();
    set_own_recipes(*model, {}, recipe);
    const Ref<Module> twin = copy_of(*model);
    set_recompute(*twin, {.match = {.path = ""}});
    for (int step = 0; step < 3; ++step) {
      for (Module* each : {static_cast<Module*>(model.get()), twin.get()}) {
        context().set_generator(kRoomSeed, 100);
        run_backward(each->run(input(step + 1)), full(device(), DType::kBF16, {5, 16}, 0.3), false);
      }
    }
    for (size_t i = 0; i < model->parameters().size(); ++i) {
      EXPECT_EQ(values(twin->parameters()[i].parameter->grad()), values(model->parameters()[i].parameter->grad()))
          << static_cast<int>(kind) << model->parameters()[i].name;
    }
  }
}

TEST_F(ModuleRecipe, RecomputationRefusesScalesOfAnotherForward) {
  const Ref<Sequential> model = chain();
  set_own_recipes(*model, {.kind = "linear"}, make_ref<Recipe>(kDelayed));
  set_recompute(*model, {.match = {.path = ""}});
  const Tensor first = model->run(input());
  model->run(input());
  EXPECT_EQ(code_of([&] { run_backward(first, full(device(), DType::kBF16, {5, 16}, 1.0), false); }), Code::kState);
}

}  // namespace
}  // namespace halftone::nn
