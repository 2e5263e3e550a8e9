// Gives modules recipes of their own (ops/dispatch/recipe.h).
#pragma once

#include "nn/module_match.h"
#include "ops/dispatch/recipe.h"

namespace halftone::nn {

// Gives each module that fits the recipe, or none of any if it is null. A linear layer gets a history of magnitudes
// under delayed scaling, and keeps the one that it has if that is as long. Returns how many fit. Throws as
// for_each_match, OUT_OF_MEMORY.
int64_t set_own_recipes(Module& module, const ModuleMatch& match, const Ref<const Recipe>& recipe);
// Lets each module that fits have the recipe of the modules around it.
int64_t clear_own_recipes(Module& module, const ModuleMatch& match);

}  // namespace halftone::nn
