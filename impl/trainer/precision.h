// The precisions of a training run by name: the dtype of weights and activations in products, and the recipe of linear
// layers. Values; any thread.
#pragma once

#include <optional>
#include <span>

#include "core/dtype.h"
#include "ops/dispatch/recipe.h"

namespace halftone::trainer {

struct Precision {
  const char* name;
  DType dtype;
  std::optional<RecipeKind> recipe;  // none: linear layers multiply in the dtype
};

std::span<const Precision> precisions() noexcept;
// Null where there is none of the name.
const Precision* precision_named(const char* name) noexcept;

}  // namespace halftone::trainer
