#include "cuda/attention/entries.h"
#include "cuda/attention/tensor_entries.h"
#include "cuda/attention/tensor_plan.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/stream.h"

namespace halftone::cuda {
namespace {

size_t workspace(Stream&, AttentionPass pass, const AttentionArgs& args) noexcept {
  if (pass == AttentionPass::kForward) return 0;
  int64_t rows = 1;
  for (int d = 0; d < args.q.rank() - 1; ++d) rows *= args.q.shape[d];
  return static_cast<size_t>(rows) * (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float));
}

bool has_tensor_kernel(Stream& stream, const AttentionArgs& args) {
  return tensor_depth(args, device_of(stream).shared_memory) != 0;
}

Status forward(Stream& stream, const AttentionArgs& args, void* workspace, const AttentionResult& out) noexcept {
  const DType dtype = args.q.dtype;
  if (!has_tensor_kernel(stream, args) || !is_tensor_view(out.output, dtype)) {
    return attention_forward(stream, args, workspace, out);
  }
  return dtype == DType::kBF16 ? tensor_forward<BFloat16>(stream, args, out)
                               : tensor_forward<Float16>(stream, args, out);
}

Status backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                const AttentionGrads& out) noexcept {
  const DType dtype = args.q.dtype;
  bool is_taken = has_tensor_kernel(stream, args);
  for (const View* view : {&saved.grad_output, &saved.output, &out.q, &out.k, &out.v}) {
    is_taken = is_taken && is_tensor_view(*view, dtype);
  }
  if (!is_taken) return attention_backward(stream, args, saved, workspace, out);
  auto* const dots = static_cast<float*>(workspace);
  return dtype == DType::kBF16 ? tensor_backward<BFloat16>(stream, args, saved, dots, out)
                               : tensor_backward<Float16>(stream, args, saved, dots, out);
}

}  // namespace

const AttentionKernels kAttentionKernels = {
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .backward_of_mask = attention_backward_of_mask,
    .rotate = rotate,
};

}  // namespace halftone::cuda
