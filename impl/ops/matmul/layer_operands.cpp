#include "ops/matmul/layer_operands.h"

#include <utility>

#include "autograd/recompute.h"
#include "autograd/scope.h"
#include "ops/gemm/gemm.h"
#include "ops/scaled/product.h"
#include "runtime/context.h"

namespace halftone {

LayerOperands::LayerOperands(Op op, const Tensor& rows, const Tensor& weight, bool records)
    : rows_(rows), weight_(weight) {
  const Recipe* const recipe = recipe_in_force(op, rows.dtype());
  if (recipe == nullptr) [[likely]]
    return;
  const AmaxHistory history = history_in_force(*recipe);
  // A second forward reads the scale of the first.
  const HistoryUse use = records && !is_recomputing() ? HistoryUse::kAdvance : HistoryUse::kRead;
  const ops::ScaleOptions scales = delayed_scales(*recipe, Operand::kInput, history, use);
  codes_.reset(new Codes{*recipe, history, ops::to_scaled(rows, scales)});
}

LayerRecipe LayerOperands::recipe() const {
  LayerRecipe kept = {.recipe = Ref<const Recipe>::share(&codes_->recipe), .history = codes_->history};
  if (codes_->recipe.draws()) kept.key = rows_.device().context->next_key();
  if (scope().recompute != nullptr && kept.history.scales.defined()) kept.read_scales.emplace(kept.history.scales);
  return kept;
}

// They give the codes of this input once more.
ops::ScaleOptions LayerOperands::input_scales() const {
  ops::ScaleOptions scales = scales_of(codes_->recipe, Operand::kInput);
  if (scales.layout == ops::ScaleLayout::kTensor) scales.scale = codes_->input.scales;
  return scales;
}

SavedLayer LayerOperands::save() const {
  if (!codes_) return SavedLayer(rows_, weight_);
  LayerRecipe kept = recipe();
  ops::Scaled columns;
  if (requires_grad(weight_)) columns = codes_along_columns(kept, rows_, input_scales(), codes_->input);
  return SavedLayer(std::move(kept), columns, weight_);
}

std::unique_ptr<CodedInput> LayerOperands::coded_input() const {
  if (!codes_) return nullptr;
  return std::unique_ptr<CodedInput>(new CodedInput{recipe(), input_scales()});
}

void LayerOperands::multiply(const char* operation, GemmArgs rest) const {
  if (codes_) {
    return ops::run_scaled_gemm(operation, codes_->input, weight_along_rows(weight_, codes_->recipe), std::move(rest));
  }
  rest.a = rows_.view();
  rest.b = transposed(weight_.view());
  run_gemm(operation, rows_.device(), rest);
}

}  // namespace halftone
