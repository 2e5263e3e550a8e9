// The table's entries for products of codes.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone::cuda {

GemmSchedule schedule_fp8(Stream& stream, const GemmArgs& args) noexcept;
Status run_fp8(Stream& stream, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept;

}  // namespace halftone::cuda
