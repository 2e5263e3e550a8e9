#include "cpu/attention/dot.h"

#include "cpu/gemm/dot_choice.h"

namespace halftone::cpu {

bool attends_by_dot(const AttentionArgs& args) noexcept {
  for (const View* view : {&args.q, &args.k, &args.v}) {
    if (view->dtype != DType::kBF16) return false;
  }
  return uses_dot();
}

bool attends_by_dot(const AttentionArgs& args, const AttentionSaved& saved) noexcept {
  return saved.grad_output.dtype == DType::kBF16 && saved.output.dtype == DType::kBF16 && attends_by_dot(args);
}

}  // namespace halftone::cpu
