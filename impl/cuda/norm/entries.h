// The entries of NormKernels (backend/kernels/norm.h), each defined in the file of its operation.
#pragma once

#include "backend/kernels/norm.h"

namespace halftone::cuda {

Status softmax(Stream& stream, const View& x, int dim, const View& out) noexcept;
Status log_softmax(Stream& stream, const View& x, int dim, const View& out) noexcept;
Status softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                        const View& grad_input) noexcept;
Status log_softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                            const View& grad_input) noexcept;
Status cross_entropy(Stream& stream, const View& logits, const ClassTargets& targets, const ClassLosses& out) noexcept;
Status cross_entropy_backward(Stream& stream, const View& grad_rows, const View& logits, const ClassTargets& targets,
                              const View& normalizers, const View& grad_logits) noexcept;
Status nll(Stream& stream, const View& log_probabilities, const ClassTargets& targets, const ClassLosses& out) noexcept;
Status nll_backward(Stream& stream, const View& grad_rows, const ClassTargets& targets,
                    const View& grad_input) noexcept;
Status row_norm(Stream& stream, const RowNorm& norm, const NormInput& input, const NormAffine& affine,
                const NormStatistics& statistics, const View& out) noexcept;
Status row_norm_backward(Stream& stream, const RowNorm& norm, const NormSaved& saved,
                         const NormGrads& out_grads) noexcept;
Status update_running(Stream& stream, const RunningUpdate& update, const RunningViews& out) noexcept;

}  // namespace halftone::cuda
