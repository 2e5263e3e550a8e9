// Calls the backend's GEMM with its scratch memory; used by matmul and linear.
#pragma once

#include "autograd/node.h"
#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

void run_gemm(const char* operation, ContextDevice& device, const GemmArgs& args);

// The matrix with its last two dimensions swapped.
View transposed(const View& matrix);

// True if a gradient of `dtype` computed from `source` may be stored in the leaf's own memory: not if `source` is in
// that memory, nor if exactly one of the two dtypes is f64.
bool can_store_into(const GradSink& sink, const View& source, DType dtype);

// Computes grad = a * b for an input: into the leaf's own memory if the input is a leaf and allows it, else as a new
// tensor.
void set_gemm_grad(const char* operation, InputGrads& inputs, int input, const View& a, const View& b, DType dtype,
                   ContextDevice& device);

}  // namespace halftone
