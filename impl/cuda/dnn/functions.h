// Opens cuDNN, which the plugin does not need to load. Safe from any thread.
#pragma once

#include "cuda/dnn/api.h"

namespace halftone::cuda {

// Opens libcudnn.so.9, or the file that the variable HALFTONE_CUDNN_LIBRARY names, and finds its functions. Returns
// false if that fails or cuDNN is older than 9.0, with one warning in a process; and, without a warning, if the
// variable is empty.
bool open_dnn(DnnFunctions* out) noexcept;

// Opens the file `name`. Returns null, or why it is not used.
const char* open_dnn(const char* name, DnnFunctions* out) noexcept;

}  // namespace halftone::cuda
