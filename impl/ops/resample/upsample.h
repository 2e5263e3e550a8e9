// Lines and images of another size; capi/include/halftone/upsample.h documents them.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor upsample_nearest1d(const Tensor& input, int64_t result_w);
Tensor upsample_nearest2d(const Tensor& input, int64_t result_h, int64_t result_w);
Tensor upsample_linear1d(const Tensor& input, int64_t result_w, bool align_corners);
Tensor upsample_bilinear2d(const Tensor& input, int64_t result_h, int64_t result_w, bool align_corners);
Tensor upsample_bicubic2d(const Tensor& input, int64_t result_h, int64_t result_w, bool align_corners);

}  // namespace halftone::ops
