#include "cpu/kernel_groups.h"
#include "cpu/reduce/entries.h"

namespace halftone::cpu {

const ReduceKernels kReduceKernels = {
    .sum = sum,
    .accuracy = accuracy,
    .min_max = min_max,
    .min_max_backward = min_max_backward,
    .index_of = index_of,
    .one_hot = one_hot,
    .cumulative_sum = cumulative_sum,
    .variance = variance,
    .variance_backward = variance_backward,
    .log_sum_exp = log_sum_exp,
    .log_sum_exp_backward = log_sum_exp_backward,
};

}  // namespace halftone::cpu
