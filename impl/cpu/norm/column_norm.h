// NormKernels::row_norm and its backward for rows that are columns in memory.
#pragma once

#include "backend/kernels/norm.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// True if x is [channels, items] with adjacent channels, each normalised on its own.
bool is_column_norm(const RowNorm& norm, const View& x) noexcept;

// REQUIRES: is_column_norm; x is not empty.
void column_norm(ThreadPool& pool, const RowNorm& norm, const View& x, const NormAffine& affine,
                 const NormStatistics& statistics, const View& out) noexcept;
void column_norm_backward(ThreadPool& pool, const RowNorm& norm, const NormSaved& saved,
                          const NormGrads& out_grads) noexcept;

}  // namespace halftone::cpu
