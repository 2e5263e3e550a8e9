// The deferred device's table of kernels: each entry keeps copies of its arguments and runs the CPU's entry later.
#pragma once

#include "backend/kernels/kernels.h"

namespace halftone::deferred {

const Kernels& kernels() noexcept;

}  // namespace halftone::deferred
