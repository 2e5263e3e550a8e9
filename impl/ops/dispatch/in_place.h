// Checks and operands of operations that write into their first operand. Such operations record nothing.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// Compares addresses, because two storages may be over one buffer of the caller. A tensor's memory is that between its
// first and its last element.
bool share_memory(const Tensor& a, const Tensor& b);

// Throws STATE unless `target` may be written, or if autograd would have to record the write: the target is a leaf that
// requires a gradient, or `operand` requires one, while this thread records. The target's name is "tensor".
void require_in_place(const Tensor& target, const Tensor& operand, const char* operand_name);

// `operand` for a kernel that writes `target` while it reads: repeated to the target's shape, and copied if it shares
// memory with the target but is not the same elements. Throws SHAPE_MISMATCH.
Tensor in_place_operand(const Tensor& target, const Tensor& operand, const char* operand_name);

}  // namespace halftone
