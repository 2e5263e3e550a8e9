// The running statistics of batch normalisation; documented at NormKernels.
#pragma once

#include "backend/kernels/norm.h"

namespace halftone::cpu {

Status update_running(Stream& stream, const RunningUpdate& update, const RunningViews& out) noexcept;

}  // namespace halftone::cpu
