// Calls the backend's GEMM with its scratch memory; used by matmul and linear.
#pragma once

#include "autograd/graph/node.h"
#include "backend/kernels/kernels.h"
#include "tensor/tensor.h"

namespace halftone {

void run_gemm(const char* operation, ContextDevice& device, const GemmArgs& args);

// True if the backend computes the end with an `argument` faster within the product than apart from it.
bool fuses_argument(ContextDevice& device, const GemmArgs& args);

// The matrix with its last two dimensions swapped.
View transposed(const View& matrix);

// Computes grad = a * b for an input (ops/dispatch/store_gradient.h).
void set_gemm_grad(const char* operation, InputGrads& inputs, int input, const View& a, const View& b, DType dtype,
                   ContextDevice& device);

}  // namespace halftone
