// Operations of a tensor and a number. capi/include/halftone/arithmetic.h and compare.h documents them; included by ops/ops.h.
#pragma once

#include "tensor/tensor.h"

namespace halftone::ops {

Tensor add_scalar(const Tensor& input, double number);
Tensor sub_scalar(const Tensor& input, double number);
Tensor mul_scalar(const Tensor& input, double number);
Tensor div_scalar(const Tensor& input, double number);

// The result is bool, so these are not differentiable.
Tensor eq_scalar(const Tensor& input, double number);
Tensor ne_scalar(const Tensor& input, double number);
Tensor lt_scalar(const Tensor& input, double number);
Tensor le_scalar(const Tensor& input, double number);
Tensor gt_scalar(const Tensor& input, double number);
Tensor ge_scalar(const Tensor& input, double number);

}  // namespace halftone::ops
