// The entries of AttentionKernels.
#pragma once

#include "backend/kernels/attention.h"

namespace halftone::cpu {

size_t attention_forward_workspace(Stream& stream, const AttentionArgs& args) noexcept;
Status attention_forward(Stream& stream, const AttentionArgs& args, void* workspace,
                         const AttentionResult& out) noexcept;

size_t attention_backward_workspace(Stream& stream, const AttentionArgs& args) noexcept;
Status attention_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                          const AttentionGrads& out) noexcept;

size_t attention_backward_of_mask_workspace(Stream& stream, const AttentionArgs& args) noexcept;
Status attention_backward_of_mask(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved,
                                  void* workspace, const View& out) noexcept;

Status rotate(Stream& stream, const Rotary& rotary, const View& x, const View& positions, const View& out) noexcept;

}  // namespace halftone::cpu
