// The matrix product for CPU kernels that consist of products; also the code of the table's entry. Runs on the whole
// pool or on the calling thread alone, with the same bits.
#pragma once

#include "backend/kernels/kernels.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

enum class Threads { kPool, kCaller };

GemmSchedule schedule_gemm(ThreadPool& pool, Threads threads, const GemmArgs& args) noexcept;
// REQUIRES: all views are f64 or none is; `schedule` was made for these arguments; `workspace` is aligned to a cache
// line.
void gemm(ThreadPool& pool, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept;

// For callers that need the scratch of several products at once, before they run the first.
inline size_t gemm_workspace(ThreadPool& pool, Threads threads, const GemmArgs& args) noexcept {
  return schedule_gemm(pool, threads, args).workspace;
}
inline void gemm(ThreadPool& pool, Threads threads, const GemmArgs& args, void* workspace) noexcept {
  gemm(pool, args, schedule_gemm(pool, threads, args), workspace);
}

}  // namespace halftone::cpu
