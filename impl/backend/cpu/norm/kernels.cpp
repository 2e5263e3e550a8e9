#include "backend/cpu/kernel_groups.h"
#include "backend/cpu/norm/cross_entropy.h"
#include "backend/cpu/norm/softmax.h"

namespace halftone::cpu {

const NormKernels kNormKernels = {
    .softmax = softmax,
    .log_softmax = log_softmax,
    .softmax_backward = softmax_backward,
    .log_softmax_backward = log_softmax_backward,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
};

}  // namespace halftone::cpu
