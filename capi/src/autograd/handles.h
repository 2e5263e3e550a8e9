// Handles of autocast policies and recipes.
#pragma once

#include "base/objects.h"

struct htone_autocast_policy;
struct htone_recipe;

namespace halftone {
class AutocastPolicy;  // ops/dispatch/autocast.h
class Recipe;          // ops/dispatch/recipe.h
}

namespace halftone::capi {

template <>
struct HandleTraits<htone_autocast_policy> : HandleTo<Ref<AutocastPolicy>, HandleType::kAutocastPolicy> {};
template <>
struct HandleTraits<htone_recipe> : HandleTo<Ref<Recipe>, HandleType::kRecipe> {};

}  // namespace halftone::capi
