// The checked options of a recipe. Used by the sources that make recipes.
#pragma once

#include "halftone/recipe.h"
#include "ops/dispatch/recipe.h"

namespace halftone::capi {

// Throws INVALID_ARGUMENT naming the kind or the field. NULL means the defaults.
RecipeOptions recipe_options(htone_recipe_kind given_kind, const htone_recipe_options* options);

}  // namespace halftone::capi
