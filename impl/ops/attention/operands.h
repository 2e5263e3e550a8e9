// The operands of attention and the checks of their shapes.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

struct AttentionOperands {
  Tensor q;     // [..., heads, queries, depth]
  Tensor k;     // [..., kv_heads, keys, depth]
  Tensor v;     // [..., kv_heads, keys, value_depth]
  Tensor mask;  // undefined for none
};

// [..., heads, queries, keys]
Shape score_shape(const AttentionOperands& operands);

// Throws an error that names the argument unless dtypes, devices and shapes fit together, and no gradient of the mask
// is wanted.
void require_attention(const AttentionOperands& operands);

}  // namespace halftone
