// Maxima and averages over windows of volumes; capi/include/halftone/pool3d.h documents them. Included by ops/ops.h.
#pragma once

#include "ops/conv/window.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// {depth, height, width}.
struct Pool3dOptions {
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1};
  bool counts_padding = true;  // for averages only
  LastWindow last_window = LastWindow::kWhole;
};

Tensor max_pool3d(const Tensor& input, const Pool3dOptions& options);
// REQUIRES: dilation is 1.
Tensor avg_pool3d(const Tensor& input, const Pool3dOptions& options);

// Throws INVALID_ARGUMENT naming `options` or the kernel's size if no input could be pooled with them.
void require_pool3d_options(const Pool3dOptions& options);

}  // namespace halftone::ops
