#include "ops/matmul/layer_operands.h"

#include <utility>

#include "autograd/recompute.h"
#include "autograd/scope.h"
#include "ops/dispatch/autocast.h"
#include "ops/gemm/gemm.h"
#include "ops/matmul/layer.h"
#include "ops/scaled/product.h"
#include "runtime/context.h"

namespace halftone {

LayerOperands::LayerOperands(Op op, const Tensor& input, const Tensor& weight, bool records)
    : input_(input), weight_(weight) {
  const Recipe* const recipe = recipe_in_force(op, input.dtype());
  if (recipe == nullptr) [[likely]]
    return;
  const AmaxHistory history = history_in_force(*recipe);
  // A second forward reads the scale of the first. In evaluation several threads may read it.
  const bool trains = records && !is_recomputing() && scope().layer != nullptr && scope().layer->is_training();
  const HistoryUse use = trains ? HistoryUse::kAdvance : HistoryUse::kRead;
  const ops::ScaleOptions scales = delayed_scales(*recipe, Operand::kInput, history, use);
  codes_.reset(new Codes{*recipe, history, use, version_of_weights(weight), ops::to_scaled(as_rows(input), scales)});
}

LayerRecipe LayerOperands::recipe() const {
  LayerRecipe kept = {.recipe = Ref<const Recipe>::share(&codes_->recipe),
                      .history = codes_->history,
                      .use = codes_->use,
                      .weight_version = codes_->weight_version};
  if (codes_->recipe.draws()) kept.key = input_.device().context->next_key();
  if (kept.history.scales.defined() && scope().recompute != nullptr) {
    kept.is_recomputed = true;
    kept.scales_version = kept.history.scales.version();
  }
  return kept;
}

// They give the codes of this input once more.
ops::ScaleOptions LayerOperands::input_scales() const {
  ops::ScaleOptions scales = scales_of(codes_->recipe, Operand::kInput);
  if (scales.layout == ops::ScaleLayout::kTensor) scales.scale = codes_->input.scales;
  return scales;
}

SavedLayer LayerOperands::save() const {
  if (!codes_) return SavedLayer(input_, weight_);
  LayerRecipe kept = recipe();
  ops::Scaled columns;
  if (requires_grad(weight_)) columns = codes_along_columns(kept, input_, input_scales(), codes_->input);
  return SavedLayer(std::move(kept), columns, weight_);
}

std::unique_ptr<CodedInput> LayerOperands::coded_input() const {
  if (!codes_) return nullptr;
  return std::unique_ptr<CodedInput>(new CodedInput{recipe(), input_scales()});
}

void LayerOperands::multiply(const char* operation, const GemmArgs& product) const {
  if (codes_) return multiply_codes(operation, product);
  run_gemm(operation, input_.device(), product);
}

void LayerOperands::multiply_codes(const char* operation, const GemmArgs& product) const {
  const ops::Scaled weight = weight_along_rows(weight_, codes_->weight_version, codes_->recipe);
  ops::run_scaled_gemm(operation, codes_->input, weight, product);
}

}  // namespace halftone
