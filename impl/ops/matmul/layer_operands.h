// The operands of a linear layer as its product reads them: the tensors themselves or, where a low-precision recipe is
// in force, codes of them. For one forward.
#pragma once

#include <memory>

#include "ops/matmul/saved_layer.h"

namespace halftone {

class LayerOperands {
 public:
  // `records`: the forward keeps something for backward. REQUIRES: input [..., in] and weight [out, in] outlive this.
  LayerOperands(Op op, const Tensor& input, const Tensor& weight, bool records);

  // For backward; with a key of their own for each call. save() REQUIRES: input [rows, in]. The second is null without
  // a recipe.
  SavedLayer save() const;
  std::unique_ptr<CodedInput> coded_input() const;

  // y = input weight^T. `rest` is all of the product but its factors, which it gets.
  void multiply(const char* operation, GemmArgs&& rest) const;

 private:
  // Not on the stack, which may have 64 KiB for 64 modules inside one another.
  struct Codes {
    const Recipe& recipe;
    AmaxHistory history;
    HistoryUse use;
    uint64_t weight_version;
    ops::Scaled input;
  };

  LayerRecipe recipe() const;
  ops::ScaleOptions input_scales() const;
  // Returns the tensor that rest.a views if the input itself has no view as rows. Out of the frame that is on the stack
  // during the product.
  [[gnu::noinline]] Tensor set_factors(GemmArgs& rest) const;
  [[gnu::noinline]] void multiply_codes(const char* operation, const GemmArgs& rest) const;

  const Tensor& input_;
  const Tensor& weight_;
  std::unique_ptr<const Codes> codes_;  // null without a recipe
};

}  // namespace halftone
