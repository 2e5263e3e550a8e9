// Cross entropy of rows of logits with class indices; the contracts are NormKernels'. Safe from any thread.
#pragma once

#include "backend/kernels.h"

namespace halftone::cpu {

Status cross_entropy(Stream& stream, const View& logits, const View& targets, const View& out_log_sum_exp,
                     const View& out_losses) noexcept;
Status cross_entropy_backward(Stream& stream, const View& grad_output, double scale, const View& logits,
                              const View& targets, const View& log_sum_exp, const View& grad_logits) noexcept;

}  // namespace halftone::cpu
