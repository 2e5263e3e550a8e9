// Positions of tokens as an input of transformers, for rows that do not begin at 0, such as rows with padding before
// them. One thread.
#pragma once

#include "tensor/tensor.h"

namespace halftone::nn {

// Throws DTYPE_MISMATCH, SHAPE_MISMATCH or DEVICE naming "positions" unless they are i64 or i32 and broadcast to the
// first two dimensions of `sequence`, [batch, time]. REQUIRES: the sequence has those.
void require_token_positions(const Tensor& positions, const Tensor& sequence);

}  // namespace halftone::nn
