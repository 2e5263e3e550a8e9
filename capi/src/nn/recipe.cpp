#include "halftone/recipe.h"

#include "autograd/handles.h"
#include "base/call.h"
#include "core/number/number_format.h"
#include "nn/handles.h"
#include "nn/match_arguments.h"
#include "nn/own_recipe.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/recipe.h"

using namespace halftone;
using namespace halftone::capi;

static_assert(static_cast<int32_t>(RecipeKind::kCurrent) == HTONE_RECIPE_CURRENT);
static_assert(static_cast<int32_t>(RecipeKind::kDelayed) == HTONE_RECIPE_DELAYED);
static_assert(static_cast<int32_t>(RecipeKind::kBlock) == HTONE_RECIPE_BLOCK);
static_assert(static_cast<int32_t>(RecipeKind::kMxfp8) == HTONE_RECIPE_MXFP8);
static_assert(static_cast<int32_t>(RecipeKind::kNvfp4) == HTONE_RECIPE_NVFP4);

namespace {

RecipeKind known_kind(htone_recipe_kind kind) {
  switch (kind) {
    case HTONE_RECIPE_CURRENT:
    case HTONE_RECIPE_DELAYED:
    case HTONE_RECIPE_BLOCK:
    case HTONE_RECIPE_MXFP8:
    case HTONE_RECIPE_NVFP4:
      return static_cast<RecipeKind>(kind);
    default:
      fail(Code::kInvalidArgument, "kind", "kind=%d is none of HTONE_RECIPE_...", kind);
  }
}

NumberFormat gradient_format(htone_recipe_format format, RecipeKind kind) {
  switch (format) {
    case HTONE_RECIPE_FORMAT_AUTO:
      return kind == RecipeKind::kCurrent || kind == RecipeKind::kDelayed ? NumberFormat::kE5M2 : NumberFormat::kE4M3;
    case HTONE_RECIPE_FORMAT_E4M3:
      return NumberFormat::kE4M3;
    case HTONE_RECIPE_FORMAT_HYBRID:
      return NumberFormat::kE5M2;
    default:
      fail(Code::kInvalidArgument, "options", "options.format=%d is none of HTONE_RECIPE_FORMAT_...", format);
  }
}

constexpr int64_t kMostHistory = int64_t{1} << 20;
constexpr int64_t kMostMargin = 64;

void require_within(int64_t value, int64_t least, int64_t most, const char* field) {
  if (value >= least && value <= most) return;
  fail(Code::kInvalidArgument, "options", "options.%s=%lld, expected %lld to %lld", field,
       static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(most));
}

RecipeOptions recipe_options(htone_recipe_kind given_kind, const htone_recipe_options* options) {
  const RecipeKind kind = known_kind(given_kind);
  const htone_recipe_options given = options_or_default(options, htone_recipe_options(HTONE_RECIPE_OPTIONS_INIT));
  require_within(given.history_length, 1, kMostHistory, "history_length");
  require_within(given.margin, -kMostMargin, kMostMargin, "margin");
  return {.kind = kind,
          .gradient_format = gradient_format(given.format, kind),
          .scale_rounds_up = given.scale_rounds_up != 0,
          .history_length = given.history_length,
          .margin = given.margin,
          .takes_newest = given.most_recent != 0,
          .scales_weights_in_squares = given.square_weight_scales != 0,
          .rounds_gradients_by_chance = given.stochastic_gradients != 0,
          .rotates = given.random_hadamard != 0};
}

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
