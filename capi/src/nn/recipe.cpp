#include "halftone/recipe.h"

#include "autograd/handles.h"
#include "base/call.h"
#include "nn/handles.h"
#include "nn/match_arguments.h"
#include "nn/own_recipe.h"
#include "nn/recipe_options.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/recipe.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void set_recipe(AutocastPolicy& policy, const Ref<Recipe>& recipe) {
  if (recipe && policy.dtype() == DType::kF32) {
    fail(Code::kInvalidArgument, "policy", "policy is of f32, which casts nothing; a recipe needs one of bf16 or f16");
  }
  policy.set_recipe(recipe);
}

size_t set_recipes(nn::Module& module, const nn::ModuleMatch& match, const Ref<Recipe>& recipe) {
  return static_cast<size_t>(nn::set_own_recipes(module, match, recipe));
}

size_t clear_recipes(nn::Module& module, const nn::ModuleMatch& match) {
  return static_cast<size_t>(nn::clear_own_recipes(module, match));
}

}  // namespace

htone_status htone_recipe_create(htone_recipe_kind kind, const htone_recipe_options* options, htone_recipe** out) {
  return Call(make<Recipe>, as<recipe_options>(kind, options), out);
}

htone_status htone_autocast_policy_set_recipe(htone_autocast_policy* policy, htone_recipe* recipe) {
  return Call(set_recipe, policy, optional(recipe));
}

htone_status htone_module_set_recipe_matching(htone_module* module, const char* path, const char* kind,
                                              htone_recipe* recipe, size_t* out_count) {
  return Call(set_recipes, module, as<module_match>(path, kind), optional(recipe), out_count);
}

htone_status htone_module_clear_recipe_matching(htone_module* module, const char* path, const char* kind,
                                                size_t* out_count) {
  return Call(clear_recipes, module, as<module_match>(path, kind), out_count);
}
