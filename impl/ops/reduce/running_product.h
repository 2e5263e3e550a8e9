// Running products and their gradient, for prod and cumprod; nothing here records.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// out[i] = in[0] ... in[i] along `dim`, in `dtype`.
Tensor running_products(const char* operation, const Tensor& input, int dim, DType dtype);

// The gradient of the input for the gradient `grad` of running_products, in the input's dtype.
Tensor running_product_gradient(const char* operation, const Tensor& grad, const Tensor& input, int dim);

}  // namespace halftone
