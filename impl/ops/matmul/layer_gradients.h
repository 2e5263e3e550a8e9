// The gradients of a linear layer's parameters, for backward of operations that contain one.
#pragma once

#include "autograd/graph/node.h"
#include "tensor/tensor.h"

namespace halftone {

struct LayerGradients {
  View grad;   // of the result, [rows, out]
  View input;  // that the layer read, [rows, in]; not used where the weight needs no gradient
  DType weight_dtype;
  DType bias_dtype;
};

// Sets the gradients of inputs 1 (weight, [out, in]) and 2 (bias) as far as they are needed.
void set_layer_gradients(const char* operation, ContextDevice& device, const LayerGradients& layer, InputGrads& inputs);

}  // namespace halftone
