#include "cpu/kernel_groups.h"
#include "cpu/loss/entries.h"

namespace halftone::cpu {

const LossKernels kLossKernels = {
    .loss = loss,
    .loss_backward = loss_backward,
    .logistic = logistic,
    .logistic_backward = logistic_backward,
};

}  // namespace halftone::cpu
