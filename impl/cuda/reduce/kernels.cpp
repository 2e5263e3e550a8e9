#include "cuda/base/kernel_groups.h"
#include "cuda/reduce/entries.h"

namespace halftone::cuda {

const ReduceKernels kReduceKernels = {
    .sum = sum,
    .accuracy = accuracy,
    .min_max = min_max,
    .min_max_backward = min_max_backward,
    .index_of = index_of,
    .one_hot = one_hot,
    .product = product,
    .cumulative_sum = cumulative_sum,
    .cumulative_product = cumulative_product,
    .cumulative_product_backward = cumulative_product_backward,
    .vector_norm = vector_norm,
    .vector_norm_backward = vector_norm_backward,
    .variance = variance,
    .variance_backward = variance_backward,
    .log_sum_exp = log_sum_exp,
    .log_sum_exp_backward = log_sum_exp_backward,
};

}  // namespace halftone::cuda
