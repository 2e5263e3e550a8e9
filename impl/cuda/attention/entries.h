// The entries of the attention kernels; attention.h of the seam gives their contracts.
#pragma once

#include "backend/kernels/attention.h"

namespace halftone::cuda {

Status attention_forward(Stream& stream, const AttentionArgs& args, void* workspace,
                         const AttentionResult& out) noexcept;
// The workspace holds one number for each row of queries.
Status attention_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                          const AttentionGrads& out) noexcept;
// Likewise.
Status attention_backward_of_mask(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved,
                                  void* workspace, const View& out) noexcept;
Status rotate(Stream& stream, const Rotary& rotary, const View& x, const View& positions, const View& out) noexcept;

}  // namespace halftone::cuda
