// Other representations of weights, which an optimizer makes and installs. A new one may share tensors with the
// current one; nothing changes before Weights::install(), which cannot fail. All throw OUT_OF_MEMORY.
#pragma once

#include "autograd/weights/weights.h"

namespace halftone {

// Split weights. REQUIRES: an f32 master that is not the caller's memory, or split.
WeightRepresentation split_representation(const Weights& weights);
// A master, with a copy in `compute_dtype`; none where that is f32.
WeightRepresentation whole_representation(const Weights& weights, DType compute_dtype);
// 16 bits alone: f32 or split weights are rounded to `dtype`, and what they lose is gone. REQUIRES: the master is not
// the caller's memory.
WeightRepresentation narrow_representation(const Weights& weights, DType dtype);

}  // namespace halftone
