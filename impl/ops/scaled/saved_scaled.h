// Scaled tensors in states: the tensors NAME.codes, NAME.scales and NAME.tensor_scale, and a text NAME.layout, which
// says how to read them.
#pragma once

#include <string>

#include "ops/scaled/scaled.h"
#include "tensor/state_dict.h"

namespace halftone::ops {

// A scaled tensor with the shape of the values, whose last dimension is a row of the matrix.
struct ShapedScaled {
  Scaled scaled;
  Shape shape;
};

// The codes in the shape of the values, for E2M1 with half of the last size.
Tensor shaped_codes(const ShapedScaled& value);

// Adds all entries or none. Throws INVALID_ARGUMENT naming `name` where one is there already.
void save_scaled(const ShapedScaled& value, const std::string& name, SharedStateDict& state);
// Shares the memory of the entries. Throws INVALID_ARGUMENT for a missing entry, FORMAT for a wrong text,
// SHAPE_MISMATCH and DTYPE_MISMATCH, all naming the entry; and what an entry's reader throws.
ShapedScaled load_scaled(const SharedStateDict& state, const std::string& name);

}  // namespace halftone::ops
