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

  bool are_codes() const noexcept { return codes_ != nullptr; }

  // For backward; with a key of their own for each call. save() REQUIRES: input [rows, in]. The second is null without
  // a recipe.
  SavedLayer save() const;
  std::unique_ptr<CodedInput> coded_input() const;

  // y = input weight^T. `product` has the tensors themselves as its factors; codes take their place.
  void multiply(const char* operation, const GemmArgs& product) const;

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
  [[gnu::noinline]] void multiply_codes(const char* operation, const GemmArgs& product) const;

  const Tensor& input_;
  const Tensor& weight_;
  std::unique_ptr<const Codes> codes_;  // null without a recipe
};

}  // namespace halftone
