// The entries of ReduceKernels (backend/kernels/reduce.h), each defined in the file of its operation.
#pragma once

#include "backend/kernels/reduce.h"

namespace halftone::cuda {

Status sum(Stream& stream, const View& in, double scale, Store store, const View& out) noexcept;
Status accuracy(Stream& stream, const View& logits, const View& targets, const View& out) noexcept;
Status min_max(Stream& stream, MinMax which, const View& in, const View& out) noexcept;
Status min_max_backward(Stream& stream, const View& grad, const View& in, const View& values,
                        const View& grad_in) noexcept;
Status index_of(Stream& stream, const View& in, const View& values, const View& out) noexcept;
Status one_hot(Stream& stream, const View& grad, const View& indices, int dim, const View& out) noexcept;
Status product(Stream& stream, const View& in, const View& out) noexcept;
Status cumulative_sum(Stream& stream, const View& in, int dim, bool from_end, const View& out) noexcept;
Status cumulative_product(Stream& stream, const View& in, int dim, const View& out) noexcept;
Status cumulative_product_backward(Stream& stream, const View& grad, const View& in, const View& products, int dim,
                                   const View& grad_in) noexcept;
Status vector_norm(Stream& stream, double p, const View& in, const View& out) noexcept;
Status vector_norm_backward(Stream& stream, double p, const View& grad, const View& in, const View& norms,
                            const View& grad_in) noexcept;
Status variance(Stream& stream, const Variance& variance, const View& in, const View& means, const View& out) noexcept;
Status variance_backward(Stream& stream, double factor, const View& grad, const View& in, const View& means,
                         const View& deviations, const View& grad_in) noexcept;
Status log_sum_exp(Stream& stream, const View& in, const View& out) noexcept;
Status log_sum_exp_backward(Stream& stream, const View& grad, const View& in, const View& grad_in) noexcept;

}  // namespace halftone::cuda
