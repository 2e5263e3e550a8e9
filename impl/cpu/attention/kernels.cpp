#include "cpu/attention/entries.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

size_t workspace(Stream& stream, AttentionPass pass, const AttentionArgs& args) noexcept {
  return pass == AttentionPass::kForward ? attention_forward_workspace(stream, args)
                                         : attention_backward_workspace(stream, args);
}

}  // namespace

const AttentionKernels kAttentionKernels = {
    .workspace = workspace,
    .forward = attention_forward,
    .backward = attention_backward,
    .rotate = rotate,
};

}  // namespace halftone::cpu
