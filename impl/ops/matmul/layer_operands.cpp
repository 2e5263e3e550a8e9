#include "ops/matmul/layer_operands.h"

#include <utility>

#include "autograd/recompute.h"
#include "autograd/scope.h"
#include "ops/gemm/gemm.h"
#include "ops/scaled/product.h"
#include "runtime/context.h"

namespace halftone {

LayerOperands::LayerOperands(Op op, const Tensor& rows, const Tensor& weight, bool records)
    : rows_(rows), weight_(weight), recipe_(recipe_in_force(op, rows.dtype())) {
  if (recipe_ == nullptr) return;
  history_ = history_in_force(*recipe_);
  // A second forward reads the scale of the first.
  const HistoryUse use = records && !is_recomputing() ? HistoryUse::kAdvance : HistoryUse::kRead;
  input_codes_ = ops::to_scaled(rows, delayed_scales(*recipe_, Operand::kInput, history_, use));
}

LayerRecipe LayerOperands::recipe() const {
  if (recipe_ == nullptr) return {};
  LayerRecipe kept = {.recipe = Ref<const Recipe>::share(recipe_), .history = history_};
  if (recipe_->draws()) kept.key = rows_.device().context->next_key();
  if (scope().recompute != nullptr && history_.scales.defined()) kept.read_scales.emplace(history_.scales);
  return kept;
}

ops::ScaleOptions LayerOperands::input_scales() const {
  ops::ScaleOptions scales = scales_of(*recipe_, Operand::kInput);
  if (scales.layout == ops::ScaleLayout::kTensor) scales.scale = input_codes_->scales;
  return scales;
}

SavedLayer LayerOperands::save() const {
  if (recipe_ == nullptr) return SavedLayer(rows_, weight_);
  LayerRecipe kept = recipe();
  ops::Scaled columns;
  if (requires_grad(weight_)) columns = codes_along_columns(kept, rows_, input_scales(), *input_codes_);
  return SavedLayer(std::move(kept), columns, weight_);
}

void LayerOperands::multiply(const char* operation, GemmArgs rest) const {
  if (recipe_ != nullptr) {
    return ops::run_scaled_gemm(operation, *input_codes_, weight_along_rows(weight_, *recipe_), std::move(rest));
  }
  rest.a = rows_.view();
  rest.b = transposed(weight_.view());
  run_gemm(operation, rows_.device(), rest);
}

}  // namespace halftone
