// Images and volumes at the places of a grid; capi/include/halftone/grid_sample.h documents it. Included by ops/ops.h.
#pragma once

#include "backend/formula/grid_reads.h"
#include "tensor/tensor.h"

namespace halftone::ops {

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridRule& rule);

}  // namespace halftone::ops
