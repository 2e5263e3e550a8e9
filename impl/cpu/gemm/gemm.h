// The matrix product for CPU kernels that consist of products; also the code of the table's entry. Runs on the whole
// pool or on the calling thread alone, with the same bits.
#pragma once

#include "backend/kernels/kernels.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

enum class Threads { kPool, kCaller };

// Bytes of scratch that the product needs.
size_t gemm_workspace(ThreadPool& pool, Threads threads, const GemmArgs& args) noexcept;
// REQUIRES: all views are f64 or none is; `workspace` is aligned to a cache line.
void gemm(ThreadPool& pool, Threads threads, const GemmArgs& args, void* workspace) noexcept;

}  // namespace halftone::cpu
