// One call of the backend's GEMM with its scratch memory; what matmul and linear stand on.
#pragma once

#include "autograd/node.h"
#include "backend/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

void run_gemm(const char* operation, ContextDevice& device, const GemmArgs& args);

// The matrix with its last two dimensions swapped.
View transposed(const View& matrix);

// Whether a leaf's own memory may take a gradient of `dtype` that is computed from `source`: not where it is read for it,
// nor where one of the two alone is f64.
bool can_store_into(const GradSink& sink, const View& source, DType dtype);

// Hands grad = a b to an input: into the leaf's own memory where the input is a leaf, else as a new tensor.
void set_gemm_grad(const char* operation, InputGrads& inputs, int input, const View& a, const View& b, DType dtype,
                   ContextDevice& device);

}  // namespace halftone
