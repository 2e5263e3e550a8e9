// The product in double precision, for gradient checks and f64 tensors: written to be simple and correct, not fast.
#pragma once

#include "backend/kernels/gemm.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// REQUIRES: every view is f64.
void gemm_f64(ThreadPool& pool, const GemmArgs& args) noexcept;

}  // namespace halftone::cpu
