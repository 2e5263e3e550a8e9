/* Reductions beside htone_sum and htone_mean of ops.h, and running sums. What ops.h says of operations holds here.
 */
#ifndef HALFTONE_REDUCE_H
#define HALFTONE_REDUCE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Answers the largest element over dimensions.
 * The gradient is shared equally among the elements that are the largest. A NaN is the largest; its gradient goes to
 * NaNs.
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: dtype of input; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (also where there is no element to choose), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact.
 * Source: torch.amax.
 * Since: 0.1
 */
HTONE_API htone_status htone_amax(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/* Answers the smallest element over dimensions.
 * The gradient is shared equally among the elements that are the smallest. A NaN is the smallest; its gradient goes to
 * NaNs.
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: dtype of input; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (also where there is no element to choose), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact.
 * Source: torch.amin.
 * Since: 0.1
 */
HTONE_API htone_status htone_amin(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/* Answers the variance over dimensions: the sum of squared distances to the mean, divided by the
 * number of elements less `correction`.
 * Where that divides by 0 or less, it divides by 0: equal elements, one or none give NaN, others infinity. The gradient
 * is NaN or infinite there.
 *
 * [in] input: any shape, float; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] correction: what the number of elements is lessened by, finite; 1 for a sample, 0 for a whole population.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: dtype of input (f32 under autocast); owned by the caller.
 * Autocast: FP32; 16-bit input is read as it is and widened.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: two passes in double, the mean first, one rounding; equal elements give exactly 0.
 * Source: torch.var.
 * Since: 0.1
 */
HTONE_API htone_status htone_var(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction,
                                 int32_t keepdim, htone_tensor** out);

/* Answers the standard deviation over dimensions: the square root of what htone_var answers.
 * Where that divides by 0 or less, it divides by 0: equal elements, one or none give NaN, others infinity. The gradient
 * is NaN or infinite there, and 0 where the result is 0.
 *
 * [in] input: any shape, float; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] correction: what the number of elements is lessened by, finite; 1 for a sample, 0 for a whole population.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: dtype of input (f32 under autocast); owned by the caller.
 * Autocast: FP32; 16-bit input is read as it is and widened.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: two passes in double, the mean first, one rounding; equal elements give exactly 0.
 * Source: torch.std.
 * Since: 0.1
 */
HTONE_API htone_status htone_std(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction,
                                 int32_t keepdim, htone_tensor** out);

/* Answers the largest element along a dimension and where it stands.
 * Of equal elements it is the first; a NaN is the largest. The gradient goes to that element alone.
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] keepdim: not 0 keeps the reduced dimension with size 1.
 * [out] out_values: dtype of input; owned by the caller.
 * [out] out_indices: i64; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (also where the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact.
 * Source: torch.max with a dimension; which of equal elements it answers is not laid down there.
 * Since: 0.1
 */
HTONE_API htone_status htone_max_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                                     htone_tensor** out_indices);

/* Answers the smallest element along a dimension and where it stands.
 * Of equal elements it is the first; a NaN is the smallest. The gradient goes to that element alone.
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] keepdim: not 0 keeps the reduced dimension with size 1.
 * [out] out_values: dtype of input; owned by the caller.
 * [out] out_indices: i64; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (also where the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact.
 * Source: torch.min with a dimension; which of equal elements it answers is not laid down there.
 * Since: 0.1
 */
HTONE_API htone_status htone_min_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                                     htone_tensor** out_indices);

/* Answers where the largest element along a dimension stands. Never records for backward.
 * Of equal elements it is the first; a NaN is the largest. Reshape to one dimension for the index among all elements.
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] keepdim: not 0 keeps the reduced dimension with size 1.
 * [out] out: i64; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (also where the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact.
 * Since: 0.1
 */
HTONE_API htone_status htone_argmax(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out);

/* Answers where the smallest element along a dimension stands. Never records for backward.
 * Of equal elements it is the first; a NaN is the smallest. Reshape to one dimension for the index among all elements.
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] keepdim: not 0 keeps the reduced dimension with size 1.
 * [out] out: i64; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (also where the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact.
 * Since: 0.1
 */
HTONE_API htone_status htone_argmin(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out);

/* Answers whether any element is not 0, over dimensions; NaN is not 0. Never records for backward.
 *
 * [in] input: any shape and dtype; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: bool; owned by the caller. Of no elements it is false.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_any(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                 htone_tensor** out);

/* Answers whether all elements are not 0, over dimensions; NaN is not 0. Never records for backward.
 *
 * [in] input: any shape and dtype; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: bool; owned by the caller. Of no elements it is true.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_all(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                 htone_tensor** out);

/* Sums along a dimension, up to and with each element: out[i] = input[0] + ... + input[i].
 *
 * [in] input: any shape and dtype but 8-bit floats; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [out] out: shape of input; dtype of input for floats, i64 for integers and bool; owned by the caller.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: added one by one in double, one rounding; integers in 64 bits, wrapping.
 * Since: 0.1
 */
HTONE_API htone_status htone_cumsum(htone_tensor* input, int64_t dim, htone_tensor** out);

/* Answers log(sum(exp(input))) over dimensions, without overflow.
 * -inf throughout and no elements give -inf, +inf gives +inf; there the gradient of infinite entries is NaN.
 *
 * [in] input: any shape, float; borrowed.
 * [in] dim_count: number of dimensions; 0 means all.
 * [in] dims: [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * [in] keepdim: not 0 keeps the reduced dimensions with size 1.
 * [out] out: dtype of input (f32 under autocast); owned by the caller.
 * Autocast: FP32; 16-bit input is read as it is and widened.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: FP32 (f64: double) after subtracting the largest entry.
 * Since: 0.1
 */
HTONE_API htone_status htone_log_sum_exp(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                         htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
