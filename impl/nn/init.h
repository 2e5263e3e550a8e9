// Random initialisation of tensors and parameters; each fill takes the next stream of its context.
#pragma once

#include "autograd/parameter.h"

namespace halftone::nn {

void init_uniform(const Tensor& tensor, double low, double high);
void init_normal(const Tensor& tensor, double mean, double std);
void init_bernoulli(const Tensor& tensor, double p);

// A new parameter drawn from U(-bound, bound).
Ref<Parameter> uniform_parameter(ContextDevice& device, const char* name, DType dtype, const Shape& shape,
                                 double bound);

}  // namespace halftone::nn
