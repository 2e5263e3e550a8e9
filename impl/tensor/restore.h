// Writes that a call takes back where it fails (core/undo.h).
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// The elements as they are now come back where this thread's call fails. Throws OUT_OF_MEMORY.
void restore_on_failure(const Tensor& tensor);

}  // namespace halftone
