#include "ops/scaled/recipe_scales.h"

#include <cmath>

#include "tensor/launch.h"

namespace halftone {

namespace {

ops::ScaleLayout layout_of(const RecipeOptions& options, Operand operand) {
  const bool is_weight = operand == Operand::kWeight;
  switch (options.kind) {
    case RecipeKind::kCurrent:
    case RecipeKind::kDelayed:
      return ops::ScaleLayout::kTensor;
    case RecipeKind::kBlock:
      return is_weight ? ops::ScaleLayout::kBlock128x128 : ops::ScaleLayout::kBlock1x128;
    case RecipeKind::kMxfp8:
      return ops::ScaleLayout::kMx1x32;
    case RecipeKind::kNvfp4:
      break;
  }
  return is_weight && options.scales_weights_in_squares ? ops::ScaleLayout::kNv16x16 : ops::ScaleLayout::kNv1x16;
}

NumberFormat format_of(const RecipeOptions& options, Operand operand) {
  if (options.kind == RecipeKind::kNvfp4) return NumberFormat::kE2M1;
  return operand == Operand::kGradient ? options.gradient_format : NumberFormat::kE4M3;
}

}  // namespace

ops::ScaleOptions scales_of(const Recipe& recipe, Operand operand) {
  const RecipeOptions& options = recipe.options();
  return {.layout = layout_of(options, operand),
          .format = format_of(options, operand),
          .scale_rounds_up = options.scale_rounds_up,
          .stochastic = operand == Operand::kGradient && recipe.rounds_by_chance()};
}

namespace {

Tensor element(const Tensor& tensor, int64_t index) { return tensor.as_strided({}, {}, tensor.offset() + index); }

// The gradient's scale changes in backward, which reads none that a forward may need again (nn/recompute.cpp).
void advance(const RecipeOptions& options, NumberFormat format, const AmaxHistory& history, int64_t row,
             const Tensor& scale) {
  const int64_t length = history.magnitudes.size(1);
  const HistoryRule rule = {
      .format = format, .takes_newest = options.takes_newest, .factor = std::ldexp(1.0f, options.margin)};
  const Tensor magnitudes = history.magnitudes.as_strided({length}, {1}, history.magnitudes.offset() + row * length);
  launch("advance_history", scale.device(), &Kernels::scaled, &ScaledKernels::advance_history, rule, magnitudes.view(),
         scale.view());
  history.magnitudes.bump_version();
  if (row == AmaxHistory::kInput) history.scales.bump_version();
}

}  // namespace

ops::ScaleOptions delayed_scales(const Recipe& recipe, Operand operand, const AmaxHistory& history, HistoryUse use) {
  ops::ScaleOptions scales = scales_of(recipe, operand);
  if (!history.scales.defined()) return scales;
  const int64_t row = operand == Operand::kInput ? AmaxHistory::kInput : AmaxHistory::kGradient;
  scales.scale = element(history.scales, row);
  if (use == HistoryUse::kRead) return scales;
  advance(recipe.options(), scales.format, history, row, scales.scale);
  scales.amax = element(history.magnitudes, row * history.magnitudes.size(1));
  return scales;
}

}  // namespace halftone
