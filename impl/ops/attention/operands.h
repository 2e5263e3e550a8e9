// The operands of attention and the checks of their shapes.
#pragma once

#include <array>

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

// True unless the dimensions before heads, rows and depth differ, or k and v have other numbers of heads.
bool have_equal_batches(const Tensor& q, const Tensor& k, const Tensor& v);
// Views in which these dimensions are repeated where they are 1 or missing. Throws SHAPE_MISMATCH naming k or v if they
// do not broadcast, or if an operand has fewer than three dimensions.
std::array<Tensor, 3> with_equal_batches(const Tensor& q, const Tensor& k, const Tensor& v);

// Throws an error that names the argument unless dtypes, devices and shapes fit together.
void require_attention(const AttentionOperands& operands);

}  // namespace halftone
