// The operands of a linear layer as its product reads them: the tensors themselves or, where a low-precision recipe is
// in force, codes of them. For one forward.
#pragma once

#include <optional>

#include "ops/matmul/saved_layer.h"

namespace halftone {

class LayerOperands {
 public:
  // `records`: the forward keeps something for backward. REQUIRES: rows [rows, in] and weight [out, in] outlive this.
  LayerOperands(Op op, const Tensor& rows, const Tensor& weight, bool records);

  // For backward; with a key of their own for each call.
  SavedLayer save() const;
  LayerRecipe recipe() const;
  // The scales that give the codes of this input once more. REQUIRES: there is a recipe.
  ops::ScaleOptions input_scales() const;

  // y = rows weight^T. `rest` is all of the product but its factors.
  void multiply(const char* operation, GemmArgs rest) const;

 private:
  const Tensor& rows_;
  const Tensor& weight_;
  const Recipe* const recipe_;
  AmaxHistory history_;
  std::optional<ops::Scaled> input_codes_;  // without a recipe none
};

}  // namespace halftone
