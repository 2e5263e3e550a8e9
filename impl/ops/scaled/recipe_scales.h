// The codes and scales of a recipe's operands.
#pragma once

#include "ops/dispatch/recipe.h"
#include "ops/scaled/scaled.h"

namespace halftone {

// The part that a matrix has in the products of a layer.
enum class Operand { kInput, kWeight, kGradient };

// How an operand is coded. The key of random numbers is for the caller to set.
ops::ScaleOptions scales_of(const Recipe& recipe, Operand operand);

// Delayed scaling notes the magnitude of an operand and takes its next scale in each forward that is recorded and in
// each backward; a forward that is not recorded, or runs again, reads the scale that there is.
enum class HistoryUse { kAdvance, kRead };

// As above for the input or the gradient of a layer with a history; without one it is scales_of.
ops::ScaleOptions delayed_scales(const Recipe& recipe, Operand operand, const AmaxHistory& history, HistoryUse use);

}  // namespace halftone
