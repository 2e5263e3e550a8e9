// Scaled dot-product attention; capi/include/halftone/attention.h documents it.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

struct AttentionOptions {
  bool is_causal = false;
  int64_t causal_offset = 0;
  double scale = 0.0;  // 0: 1 / sqrt(depth)
  double dropout = 0.0;
};

// `mask` may be undefined.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    const AttentionOptions& options);

}  // namespace halftone::ops
