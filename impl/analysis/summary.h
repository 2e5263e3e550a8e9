// The summary of a tensor on any device, in host memory.
#pragma once

#include "backend/formula/tensor_summary.h"
#include "tensor/tensor.h"

namespace halftone::analysis {

// Waits for the device. Throws DTYPE_MISMATCH for a tensor that is not float, OUT_OF_MEMORY.
TensorSummary summary_of(const Tensor& input);

}  // namespace halftone::analysis
