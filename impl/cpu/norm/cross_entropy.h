// Cross entropy of rows of logits or log-probabilities with class indices; documented at NormKernels. Safe from any
// thread.
#pragma once

#include "backend/kernels/norm.h"

namespace halftone::cpu {

Status cross_entropy(Stream& stream, const View& logits, const ClassTargets& targets, const ClassLosses& out) noexcept;
Status cross_entropy_backward(Stream& stream, const View& grad_rows, const View& logits, const ClassTargets& targets,
                              const View& normalizers, const View& grad_logits) noexcept;
Status nll(Stream& stream, const View& log_probabilities, const ClassTargets& targets, const ClassLosses& out) noexcept;
Status nll_backward(Stream& stream, const View& grad_rows, const ClassTargets& targets,
                    const View& grad_input) noexcept;

}  // namespace halftone::cpu
