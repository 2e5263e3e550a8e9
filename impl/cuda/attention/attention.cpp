#include "cuda/attention/entries.h"
#include "cuda/base/kernel_groups.h"

namespace halftone::cuda {
namespace {

size_t workspace(Stream&, AttentionPass pass, const AttentionArgs& args) noexcept {
  if (pass == AttentionPass::kForward) return 0;
  int64_t rows = 1;
  for (int d = 0; d < args.q.rank() - 1; ++d) rows *= args.q.shape[d];
  return static_cast<size_t>(rows) * (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float));
}

}  // namespace

const AttentionKernels kAttentionKernels = {
    .workspace = workspace,
    .forward = attention_forward,
    .backward = attention_backward,
    .rotate = rotate,
};

}  // namespace halftone::cuda
