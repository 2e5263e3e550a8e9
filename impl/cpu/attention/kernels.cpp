#include "cpu/attention/entries.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

size_t workspace(Stream& stream, AttentionPass pass, const AttentionArgs& args) noexcept {
  if (pass == AttentionPass::kForward) return attention_forward_workspace(stream, args);
  return pass == AttentionPass::kBackward ? attention_backward_workspace(stream, args)
                                          : attention_backward_of_mask_workspace(stream, args);
}

}  // namespace

const AttentionKernels kAttentionKernels = {
    .workspace = workspace,
    .forward = attention_forward,
    .backward = attention_backward,
    .backward_of_mask = attention_backward_of_mask,
    .rotate = rotate,
};

}  // namespace halftone::cpu
