// Rolls back in-place writes of a call that fails (core/undo.h).
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// Copies the elements and restores them if this thread's current call fails. Throws OUT_OF_MEMORY.
void restore_on_failure(const Tensor& tensor);

}  // namespace halftone
