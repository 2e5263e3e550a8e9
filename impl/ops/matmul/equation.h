// Equations of einsum: "b...ij,jk->b...ik" as labels, one for each dimension. Pure functions, any thread.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace halftone {

// Letters, and digits for the dimensions that "..." covers, counted from the last one: '0'.
struct Equation {
  std::string a, b, out;
  bool has_b = false;
};

// For operands of these shapes; `b` is null where there is none. Throws INVALID_ARGUMENT or UNSUPPORTED with the place
// where the text makes no sense, SHAPE_MISMATCH naming an operand of another number of dimensions.
Equation read_equation(const char* text, const Shape& a, const Shape* b);

inline bool has_label(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

}  // namespace halftone
