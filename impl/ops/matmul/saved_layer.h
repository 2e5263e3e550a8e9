// The part of a linear layer's backward that operations with such a layer share. Belongs to one node.
#pragma once

#include <memory>

#include "autograd/graph/node.h"
#include "autograd/saved_tensor.h"
#include "ops/matmul/layer_codes.h"

namespace halftone {

class SavedLayer {
 public:
  SavedLayer() = default;
  // `rows` are the input as [rows, in]; the weight is [out, in].
  SavedLayer(const Tensor& rows, const Tensor& weight) : input_(rows), weight_(weight) {}
  // Under a recipe the input is kept as codes along its columns, where the weight trains; else `input_columns` have no
  // tensors.
  SavedLayer(LayerRecipe recipe, const ops::Scaled& input_columns, const Tensor& weight);

  // For the gradients: the input's own shape, and the bias (may be undefined).
  void set_operands(const Shape& input_shape, const Tensor& bias);

  // Sets the gradients of inputs 0 (input), 1 (weight) and 2 (bias) from that of the result, [..., out].
  void backward(const char* operation, const Tensor& grad, InputGrads& inputs) const;
  void reset() noexcept;

 private:
  struct Coded {
    LayerRecipe recipe;
    SavedCodes input;
  };

  void backward_of_codes(const char* operation, const Tensor& grad, InputGrads& inputs) const;

  SavedTensor input_;
  SavedTensor weight_;
  std::unique_ptr<Coded> coded_;  // null without a recipe
  Shape input_shape_;
  DType bias_dtype_ = DType::kF32;
};

}  // namespace halftone
