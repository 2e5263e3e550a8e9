// RandomKernels::dropout.
#pragma once

#include "backend/kernels/random.h"

namespace halftone::cpu {

Status dropout(Stream& stream, const Dropout& dropout, const View& in, const View& out) noexcept;

}  // namespace halftone::cpu
