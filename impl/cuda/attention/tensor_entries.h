// Attention on tensor cores, for calls that tensor_plan.h takes. One source for each dtype and pass, so that they
// compile side by side. Host code.
#pragma once

#include "backend/kernels/attention.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"

namespace halftone::cuda {

// T is the dtype of q, k and v.
template <class T>
Status tensor_forward(Stream& stream, const AttentionArgs& args, const AttentionResult& out) noexcept;
// The workspace holds one float for each row of queries.
template <class T>
Status tensor_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, float* dots,
                       const AttentionGrads& out) noexcept;

extern template Status tensor_forward<BFloat16>(Stream&, const AttentionArgs&, const AttentionResult&) noexcept;
extern template Status tensor_forward<Float16>(Stream&, const AttentionArgs&, const AttentionResult&) noexcept;
extern template Status tensor_backward<BFloat16>(Stream&, const AttentionArgs&, const AttentionSaved&, float*,
                                                 const AttentionGrads&) noexcept;
extern template Status tensor_backward<Float16>(Stream&, const AttentionArgs&, const AttentionSaved&, float*,
                                                const AttentionGrads&) noexcept;

}  // namespace halftone::cuda
