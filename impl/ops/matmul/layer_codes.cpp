#include "ops/matmul/layer_codes.h"

#include <utility>

#include "autograd/parameter.h"
#include "autograd/scope.h"
#include "autograd/weights/weight_codes.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/store_gradient.h"
#include "ops/matmul/layer.h"
#include "ops/scaled/product.h"
#include "ops/scaled/rotate.h"
#include "tensor/factory.h"

namespace halftone {

namespace {

Tensor transposed_view(const Tensor& matrix) {
  return matrix.as_strided({matrix.size(1), matrix.size(0)}, {matrix.strides()[1], matrix.strides()[0]},
                           matrix.offset());
}

enum class Along : uint64_t { kRows, kColumns };

// Different codes of one weight have different keys.
uint64_t key_of(const ops::ScaleOptions& scales, DType dtype, Along along) {
  return static_cast<uint64_t>(scales.layout) | static_cast<uint64_t>(scales.format) << 8 |
         static_cast<uint64_t>(scales.scale_rounds_up) << 16 | static_cast<uint64_t>(dtype) << 24 |
         static_cast<uint64_t>(along) << 32;
}

ops::Scaled with_tensors(const WeightCodes& kept, const ops::ScaleOptions& scales, const Shape& shape) {
  return {.codes = kept.codes,
          .scales = kept.scales,
          .tensor_scale = kept.tensor_scale,
          .layout = scales.layout,
          .format = scales.format,
          .shape = shape};
}

// Codes of `matrix`, a weight's own or its transposed view. Weights that ranks share are gathered for one use, and
// codes that are kept would be a second copy of all of them on each rank.
// Backward may have weights from before an update, whose codes are not those of the new ones.
ops::Scaled kept_codes(const Tensor& weight, uint64_t version, const Tensor& matrix, const ops::ScaleOptions& scales,
                       Along along) {
  const Ref<Parameter> parameter = parameter_of(weight);
  if (!parameter || parameter->weights().is_sharded()) return ops::to_scaled(matrix, scales);
  const Weights& weights = parameter->weights();
  if (version != weights.kept().version()) return ops::to_scaled(matrix, scales);
  const uint64_t key = key_of(scales, weight.dtype(), along);
  const WeightCodes kept = weights.codes().find(key, version);
  if (kept.codes.defined()) return with_tensors(kept, scales, matrix.shape());
  ops::Scaled made = ops::to_scaled(matrix, scales);
  weights.codes().keep(
      {.key = key, .version = version, .codes = made.codes, .scales = made.scales, .tensor_scale = made.tensor_scale});
  return made;
}

// The random numbers of a layer. The context counts its sequences from 0, so the upper bits are free in them.
enum class Draw : uint64_t { kRows = 0, kColumns = 1, kRotation = 2 };

PhiloxKey of(PhiloxKey key, Draw draw) {
  key.sequence |= static_cast<uint64_t>(draw) << 61;
  return key;
}

void require_same_scales(const LayerRecipe& recipe) {
  if (!recipe.is_recomputed || recipe.history.scales.version() == recipe.scales_version) return;
  fail(Code::kState, "tensor",
       "delayed scaling took new scales in another forward of a layer since the forward that backward recomputes; run "
       "backward before the layer runs again, or do not recompute it");
}

}  // namespace

ops::Scaled codes_along_columns(const LayerRecipe& recipe, const Tensor& matrix, const ops::ScaleOptions& scales,
                                const ops::Scaled& along_rows) {
  if (ops::has_square_blocks(scales.layout)) return ops::transposed(along_rows);
  const Tensor turned = transposed_view(matrix);
  return ops::to_scaled(recipe.recipe->rotates() ? ops::rotated(turned, of(recipe.key, Draw::kRotation)) : turned,
                        scales);
}

uint64_t version_of_weights(const Tensor& weight) {
  const Ref<Parameter> parameter = parameter_of(weight);
  return parameter ? parameter->weights().kept().version() : 0;
}

ops::Scaled weight_along_rows(const Tensor& weight, uint64_t version, const Recipe& recipe) {
  return kept_codes(weight, version, weight, scales_of(recipe, Operand::kWeight), Along::kRows);
}

ops::Scaled weight_along_columns(const Tensor& weight, uint64_t version, const Recipe& recipe) {
  const ops::ScaleOptions scales = scales_of(recipe, Operand::kWeight);
  if (ops::has_square_blocks(scales.layout)) return ops::transposed(weight_along_rows(weight, version, recipe));
  return kept_codes(weight, version, transposed_view(weight), scales, Along::kColumns);
}

AmaxHistory history_in_force(const Recipe& recipe) {
  const OwnRecipe* const own = scope().recipe;
  return recipe.options().kind == RecipeKind::kDelayed && own != nullptr ? own->history : AmaxHistory();
}

GradientCodes::GradientCodes(const LayerRecipe& recipe, const Tensor& rows)
    : recipe_(recipe),
      rows_(rows),
      scales_(delayed_scales(*recipe.recipe, Operand::kGradient, recipe.history, recipe.use)) {
  scales_.key = of(recipe.key, Draw::kRows);
  require_same_scales(recipe);
  if (ops::has_square_blocks(scales_.layout)) along_rows_ = ops::to_scaled(rows, scales_);
}

// dW = dY^T X, from codes along the rows of Y. The gradient of the bias is the sum of dY itself.
void GradientCodes::set_parameter_gradients(const char* operation, const ops::Scaled& input, DType weight_dtype,
                                            DType bias_dtype, InputGrads& inputs) const {
  ContextDevice& device = rows_.device();
  if (inputs.needs(1)) {
    ops::ScaleOptions scales = scales_;
    scales.key = of(recipe_.key, Draw::kColumns);
    const ops::Scaled columns = codes_along_columns(recipe_, rows_, scales, along_rows_);
    const Shape shape = {columns.shape[0], input.shape[0]};
    store_gradient(inputs, 1, shape, weight_dtype, device, {}, [&](const Tensor& out, Store store) {
      ops::run_scaled_gemm(operation, columns, input, {.store = store, .c = out.view()});
    });
  }
  if (!inputs.needs(2)) return;
  store_gradient(inputs, 2, {rows_.size(1)}, bias_dtype, device, {rows_.view()},
                 [&](const Tensor& out, Store store) { sum_rows(operation, rows_.view(), out, store); });
}

// dX = dY W, from codes along the outputs.
void GradientCodes::multiply_by_weight(const char* operation, const Tensor& weight, const View& out) const {
  const ops::Scaled rows = along_rows_.codes.defined() ? along_rows_ : ops::to_scaled(rows_, scales_);
  ops::run_scaled_gemm(operation, rows, weight_along_columns(weight, recipe_.weight_version, *recipe_.recipe),
                       {.c = out});
}

}  // namespace halftone
