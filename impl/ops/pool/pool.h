// Maxima and averages over windows of lines and images; capi/include/halftone/pool.h documents them.
#pragma once

#include "backend/kernels/conv.h"
#include "ops/conv/window.h"
#include "tensor/tensor.h"

namespace halftone::ops {

// {height, width}. 1-D ops use only the width; leave the height at its default.
struct PoolOptions {
  int64_t kernel[2] = {1, 1};
  ConvWindow window;
  bool counts_padding = true;  // for averages only
  LastWindow last_window = LastWindow::kWhole;
};

Tensor max_pool1d(const Tensor& input, const PoolOptions& options);
Tensor max_pool2d(const Tensor& input, const PoolOptions& options);
// REQUIRES: dilation is 1.
Tensor avg_pool1d(const Tensor& input, const PoolOptions& options);
Tensor avg_pool2d(const Tensor& input, const PoolOptions& options);
Tensor adaptive_avg_pool1d(const Tensor& input, int64_t result_w);
Tensor adaptive_avg_pool2d(const Tensor& input, int64_t result_h, int64_t result_w);
Tensor adaptive_max_pool1d(const Tensor& input, int64_t result_w);
Tensor adaptive_max_pool2d(const Tensor& input, int64_t result_h, int64_t result_w);

// Throws INVALID_ARGUMENT naming `options` or the kernel's size if no input could be pooled with them.
void require_pool_options(const PoolOptions& options, int dims);
void require_result_size(int64_t value, const char* argument);

}  // namespace halftone::ops
