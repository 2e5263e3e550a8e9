// The softmax family along a dimension whose rows are adjacent in memory; documented at NormKernels.
#pragma once

#include "backend/view.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// True if rows of x along `dim` are closer together than the elements of one row, and there are at least 16: a few
// adjacent rows are read faster one by one.
bool are_columns(const View& x, int dim) noexcept;

// REQUIRES: are_columns; for backward also equal strides of `result` and `out`.
void column_softmax(ThreadPool& pool, const View& x, int dim, const View& out) noexcept;
void column_log_softmax(ThreadPool& pool, const View& x, int dim, const View& out) noexcept;
void column_softmax_backward(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out) noexcept;
void column_log_softmax_backward(ThreadPool& pool, const View& grad, const View& result, int dim,
                                 const View& out) noexcept;

}  // namespace halftone::cpu
