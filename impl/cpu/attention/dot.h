// Attention of BF16 by dot products of pairs, for CPUs where these are faster than FMAs: the weights, and their slopes
// in backward, are rounded to BF16 between the products; scores, exponentials and sums stay FP32. Called from the
// kernels for AVX-512, which alone have the tiles of gemm/dot.h. Any thread.
#pragma once

#include "backend/kernels/attention.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// True if q, k and v are BF16 and dot products are faster or forced.
bool attends_by_dot(const AttentionArgs& args) noexcept;
// True if also the output and its gradient are BF16.
bool attends_by_dot(const AttentionArgs& args, const AttentionSaved& saved) noexcept;

// As the entries of AttentionKernels. REQUIRES: attends_by_dot, has_dot.
void attend_by_dot(ThreadPool& pool, const AttentionArgs& args, float* workspace, const AttentionResult& out);
void attend_backward_by_dot(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, float* workspace,
                            const AttentionGrads& out);

}  // namespace halftone::cpu
