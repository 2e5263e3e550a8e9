// Models whose linear layers multiply by a low-precision recipe.
#pragma once

#include "core/number/number_format.h"
#include "nn/own_recipe.h"
#include "ops/dispatch/autocast.h"
#include "replicas.h"

namespace halftone::parallel {

inline constexpr RecipeKind kRecipeKinds[] = {RecipeKind::kCurrent, RecipeKind::kDelayed, RecipeKind::kBlock,
                                              RecipeKind::kMxfp8, RecipeKind::kNvfp4};

inline Ref<const Recipe> make_recipe(RecipeKind kind) {
  return make_ref<Recipe>(RecipeOptions{.kind = kind, .gradient_format = NumberFormat::kE5M2, .history_length = 4});
}

// The task under autocast to BF16; with a recipe unless that is null.
inline Task in_bf16(const Task& task, const Ref<const Recipe>& recipe = nullptr) {
  const auto make = [task, recipe](ContextDevice& device) {
    Ref<nn::Module> model = task.make_model(device);
    if (recipe) nn::set_own_recipes(*model, {.kind = "linear"}, recipe);
    return model;
  };
  const auto loss = [task, recipe](const nn::Module& model, ContextDevice& device, const Part& part) {
    AutocastPolicy policy(DType::kBF16);
    policy.set_recipe(recipe);
    const ScopeGuard restore;
    scope().autocast = &policy;
    return task.loss(model, device, part);
  };
  return {make, loss};
}

inline Task in_recipe(const Task& task, RecipeKind kind) { return in_bf16(task, make_recipe(kind)); }

}  // namespace halftone::parallel
