// Checks that the parts of one tensor, which ranks have, cover it without a gap or an overlap. Pure functions.
#pragma once

#include <string>

#include "checkpoint/tensor_parts.h"

namespace halftone::checkpoint {

// The order of a tensor's parts: box by box, and in a box by their ranges.
bool comes_before(const TensorPart& a, const TensorPart& b);

// Returns an empty text if the parts, which are in order, cover the tensor: the ranges of each box cover the box, and
// the boxes are the cells of one grid over one view of the tensor. Otherwise tells which elements are missing or in two
// parts.
std::string fault_of_coverage(const IndexTensor& tensor);
// Throws FORMAT naming the tensor if there is a fault.
void require_coverage(const IndexTensor& tensor);

// Throws FORMAT naming the tensor if two ranks have it in another dtype or shape.
void require_alike(const IndexTensor& one, const IndexTensor& other);

}  // namespace halftone::checkpoint
