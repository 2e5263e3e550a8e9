#include "cuda/base/kernel_groups.h"
#include "cuda/optim/entries.h"

namespace halftone::cuda {

const OptimKernels kOptimKernels = {
    .grad_norm = grad_norm,
    .sum_norm = sum_norm,
    .accept_gradients = accept_gradients,
    .guard_norm = guard_norm,
    .set_clip_value = set_clip_value,
    .begin_step = begin_step,
    .end_step = end_step,
    .unscale = unscale,
    .clip_by_norm = clip_by_norm,
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
