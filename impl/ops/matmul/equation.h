// Parses equations of einsum, such as "b...ij,jk->b...ik", into labels, one for each dimension. Pure functions, any
// thread.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace halftone {

// Labels are letters, and digits for the dimensions of "...", counted from the last one: '0'. A letter that an operand
// has twice names a diagonal.
struct Equation {
  std::string a, b, out;
  bool has_b = false;
};

// Parses for operands of these shapes; `b` is null for one operand. Throws INVALID_ARGUMENT with the
// position of a syntax error, SHAPE_MISMATCH naming an operand with another number of dimensions.
Equation read_equation(const char* text, const Shape& a, const Shape* b);

inline bool has_label(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

}  // namespace halftone
