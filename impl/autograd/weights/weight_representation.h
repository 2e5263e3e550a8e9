// The tensors in which weights are kept. weights/representation.h makes one, and Weights::install keeps it.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

struct WeightRepresentation {
  Tensor kept;
  Tensor copy;       // the optimizer writes it with `kept`; undefined if there is none
  Tensor remainder;  // undefined unless the weights are split
};

}  // namespace halftone
