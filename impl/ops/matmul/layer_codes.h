// The operands of a linear layer as codes with scales, under a low-precision recipe. A product reads codes along the
// dimension that it sums over, so that each operand is read along two: y = x w^T along the inputs, dx = dy w along the
// outputs, dw = dy^T x along the rows.
#pragma once

#include "autograd/graph/node.h"
#include "backend/kernels/kernels.h"
#include "core/philox.h"
#include "ops/dispatch/op.h"
#include "ops/matmul/saved_codes.h"
#include "ops/scaled/recipe_scales.h"

namespace halftone {

// A recipe as backward of a layer keeps it.
struct LayerRecipe {
  Ref<const Recipe> recipe = {};       // null: the layer multiplies its operands themselves
  PhiloxKey key = {};                  // if the recipe draws
  AmaxHistory history = {};            // of the layer under delayed scaling
  HistoryUse use = HistoryUse::kRead;  // of the forward
  uint64_t weight_version = 0;         // of the parameter that the forward read
  // In a recompute region a second forward reads the scales of the first, so no other forward may take new ones.
  bool is_recomputed = false;
  uint64_t scales_version = 0;  // that the first read
};

// A layer whose backward computes its input again keeps this in place of codes.
struct CodedInput {
  LayerRecipe recipe;
  ops::ScaleOptions scales;  // of the codes that forward read
};

// The history of the layer that runs; without tensors where the recipe needs none.
AmaxHistory history_in_force(const Recipe& recipe);

// The codes of a factor of the weight's gradient along its columns, which are those of the transposed matrix, rotated
// where the recipe says so. `along_rows`, its codes along its rows, are not read where the layout needs codes of their
// own.
ops::Scaled codes_along_columns(const LayerRecipe& recipe, const Tensor& matrix, const ops::ScaleOptions& scales,
                                const ops::Scaled& along_rows);

// The version of the weights behind a parameter's leaf; 0 of another tensor.
uint64_t version_of_weights(const Tensor& weight);

// The codes of a weight [out, in], which a forward read when the parameter's weights had this version. Those of a
// parameter are made once after each update, unless ranks share it.
ops::Scaled weight_along_rows(const Tensor& weight, uint64_t version, const Recipe& recipe);
ops::Scaled weight_along_columns(const Tensor& weight, uint64_t version, const Recipe& recipe);

// The gradient of a layer's result as codes, for the gradients of its operands.
class GradientCodes {
 public:
  // `rows` [rows, out].
  GradientCodes(const LayerRecipe& recipe, const Tensor& rows);

  // Sets the gradients of inputs 1 (weight, of this dtype) and 2 (bias) as far as they are needed. `input` are the
  // codes of the layer's input along its columns; not used where the weight needs no gradient.
  void set_parameter_gradients(const char* operation, const ops::Scaled& input, DType weight_dtype, DType bias_dtype,
                               InputGrads& inputs) const;
  // Writes the gradient of the layer's input, as rows, to `out`.
  void multiply_by_weight(const char* operation, const Tensor& weight, const View& out) const;

 private:
  const LayerRecipe& recipe_;
  const Tensor& rows_;
  ops::ScaleOptions scales_;
  ops::Scaled along_rows_;  // only of layouts that are read both ways
};

}  // namespace halftone
