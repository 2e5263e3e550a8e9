// RandomKernels::permutation.
#pragma once

#include "backend/kernels/random.h"

namespace halftone::cpu {

Status permutation(Stream& stream, PhiloxKey key, const View& out) noexcept;

}  // namespace halftone::cpu
