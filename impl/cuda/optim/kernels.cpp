#include "cuda/base/kernel_groups.h"
#include "cuda/optim/entries.h"

namespace halftone::cuda {

const OptimKernels kOptimKernels = {
    .grad_norm = grad_norm,
    .sum_norm = sum_norm,
    .edit_state = edit_state,
    .begin_step = begin_step,
    .update_scale = update_scale,
    .adamw = adamw,
    .adam = adam,
    .lion = lion,
    .rmsprop = rmsprop,
    .sgd = sgd,
    .adafactor = adafactor,
    .average = average,
    .swap_average = swap_average,
    .split_master = split_master,
    .join_master = join_master,
};

}  // namespace halftone::cuda
