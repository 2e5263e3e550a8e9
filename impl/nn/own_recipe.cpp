#include "nn/own_recipe.h"

#include <utility>

#include "autograd/scope.h"
#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

AmaxHistory history_for(const Module& module, const Recipe* recipe) {
  ContextDevice* const device = module.product_device();
  if (recipe == nullptr || recipe->options().kind != RecipeKind::kDelayed || device == nullptr) return {};
  const int64_t length = recipe->options().history_length;
  if (module.own_recipe()) {
    const AmaxHistory& present = module.own_recipe()->history;
    if (present.magnitudes.defined() && present.magnitudes.size(1) == length) return present;
  }
  return {.magnitudes = full(*device, DType::kF32, {2, length}, 0.0), .scales = full(*device, DType::kF32, {2}, 1.0)};
}

// A module that runs has its recipe in force.
void require_idle() {
  if (scope().layer == nullptr) return;
  fail(Code::kState, "module", "a module runs on this thread: its recipe cannot change meanwhile");
}

}  // namespace

int64_t set_own_recipes(Module& module, const ModuleMatch& match, const Ref<const Recipe>& recipe) {
  require_idle();
  return for_each_match(module, match, [&](Module& fits) {
    fits.set_own_recipe(make_ref<OwnRecipe>(recipe, history_for(fits, recipe.get())));
  });
}

int64_t clear_own_recipes(Module& module, const ModuleMatch& match) {
  require_idle();
  return for_each_match(module, match, [](Module& fits) { fits.set_own_recipe(nullptr); });
}

}  // namespace halftone::nn
