// Softmax and log-softmax with their backward passes; documented at NormKernels. Safe from any thread.
#pragma once

#include "backend/kernels/norm.h"

namespace halftone::cpu {

Status softmax(Stream& stream, const View& x, int dim, const View& out) noexcept;
Status log_softmax(Stream& stream, const View& x, int dim, const View& out) noexcept;
Status softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                        const View& grad_input) noexcept;
Status log_softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                            const View& grad_input) noexcept;

}  // namespace halftone::cpu
