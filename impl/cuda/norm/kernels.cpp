#include "cuda/base/kernel_groups.h"
#include "cuda/norm/entries.h"

namespace halftone::cuda {

const NormKernels kNormKernels = {
    .softmax = softmax,
    .log_softmax = log_softmax,
    .softmax_backward = softmax_backward,
    .log_softmax_backward = log_softmax_backward,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
    .nll = nll,
    .nll_backward = nll_backward,
    .row_norm = row_norm,
    .row_norm_backward = row_norm_backward,
    .update_running = update_running,
};

}  // namespace halftone::cuda
