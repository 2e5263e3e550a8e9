// The operands of a linear layer as its product reads them: the tensors themselves or, where a low-precision recipe is
// in force, codes of them. For one forward.
#pragma once

#include <memory>

#include "ops/matmul/saved_layer.h"

namespace halftone {

class LayerOperands {
 public:
  // `records`: the forward keeps something for backward. REQUIRES: rows [rows, in] and weight [out, in] outlive this.
  LayerOperands(Op op, const Tensor& rows, const Tensor& weight, bool records);

  // For backward; with a key of their own for each call. The second is null without a recipe.
  SavedLayer save() const;
  std::unique_ptr<CodedInput> coded_input() const;

  // y = rows weight^T. `rest` is all of the product but its factors.
  void multiply(const char* operation, GemmArgs rest) const;

 private:
  // Not on the stack, which may have 64 KiB for 64 modules inside one another.
  struct Codes {
    const Recipe& recipe;
    AmaxHistory history;
    ops::Scaled input;
  };

  LayerRecipe recipe() const;
  ops::ScaleOptions input_scales() const;

  const Tensor& rows_;
  const Tensor& weight_;
  std::unique_ptr<const Codes> codes_;  // null without a recipe
};

}  // namespace halftone
