// The softmax family along a dimension whose rows lie side by side in memory; the contracts are NormKernels'.
#pragma once

#include "backend/thread_pool.h"
#include "backend/view.h"

namespace halftone::cpu {

// Whether rows of x along `dim` lie closer together than one row's elements, and enough of them: a few side by side are
// gathered faster than walked.
bool are_columns(const View& x, int dim) noexcept;

// REQUIRES of all: are_columns; of the backward two also that `result` and `out` have the same strides.
void column_softmax(ThreadPool& pool, const View& x, int dim, const View& out) noexcept;
void column_log_softmax(ThreadPool& pool, const View& x, int dim, const View& out) noexcept;
void column_softmax_backward(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out) noexcept;
void column_log_softmax_backward(ThreadPool& pool, const View& grad, const View& result, int dim,
                                 const View& out) noexcept;

}  // namespace halftone::cpu
