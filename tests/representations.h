// Changes of a parameter's representation, which only optimizers make in the library.
#pragma once

#include "autograd/parameter.h"
#include "autograd/weights/representation.h"

namespace halftone {

inline void split(Weights& weights) { weights.install(split_representation(weights)); }
inline void join(Weights& weights) { weights.install(whole_representation(weights, DType::kF32)); }
inline void narrow(Weights& weights, DType dtype) { weights.install(narrow_representation(weights, dtype)); }

}  // namespace halftone
