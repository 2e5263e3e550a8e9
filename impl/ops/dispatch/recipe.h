// A recipe: the choice of the codes in which linear layers multiply under autocast. Immutable; any thread may use it.
// capi/include/halftone/recipe.h documents the kinds and names their sources; ops/scaled/recipe_scales.h has the codes
// and scales of each.
#pragma once

#include <cstdint>
#include <utility>

#include "tensor/tensor.h"

namespace halftone {

enum class NumberFormat : int32_t;  // core/number/number_format.h

enum class RecipeKind : int32_t { kCurrent = 1, kDelayed = 2, kBlock = 3, kMxfp8 = 4, kNvfp4 = 5 };

struct RecipeOptions {
  RecipeKind kind;
  NumberFormat gradient_format;  // not of kNvfp4, whose codes are all E2M1
  bool scale_rounds_up = false;  // of kMxfp8
  // kDelayed.
  int64_t history_length = 1;
  int32_t margin = 0;
  bool takes_newest = false;
  // kNvfp4.
  bool scales_weights_in_squares = true;
  bool rounds_gradients_by_chance = true;
  bool rotates = true;  // the factors of a weight's gradient
};

class Recipe final : public RefCounted {
 public:
  explicit Recipe(const RecipeOptions& options) noexcept : options_(options) {}

  const RecipeOptions& options() const noexcept { return options_; }
  bool rounds_by_chance() const noexcept {
    return options_.kind == RecipeKind::kNvfp4 && options_.rounds_gradients_by_chance;
  }
  bool rotates() const noexcept { return options_.kind == RecipeKind::kNvfp4 && options_.rotates; }
  // True where a layer needs random numbers.
  bool draws() const noexcept { return rounds_by_chance() || rotates(); }

 private:
  const RecipeOptions options_;
};

// Delayed scaling: the largest magnitudes of earlier forwards and backwards of one layer, and the scales that follow
// from them. They are buffers of the layer.
struct AmaxHistory {
  static constexpr int64_t kInput = 0, kGradient = 1;

  Tensor magnitudes =
      {};  // f32 [2, length], the newest first; 0 where there is none yet; undefined without delayed scaling
  Tensor scales = {};  // f32 [2], 1 at first
};

// The recipe of a module for itself and the modules in it, in place of that of the policy; null: none.
struct OwnRecipe final : RefCounted {
  explicit OwnRecipe(Ref<const Recipe> own, AmaxHistory of_layer = {}) noexcept
      : recipe(std::move(own)), history(std::move(of_layer)) {}

  const Ref<const Recipe> recipe;
  const AmaxHistory history;  // of a linear layer alone
};

}  // namespace halftone
