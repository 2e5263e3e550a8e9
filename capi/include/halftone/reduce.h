/** @file
 * Sums, means and other reductions over dimensions, and running sums. The conventions of ops.h apply.
 *
 * @code
 * const int64_t columns = 1;
 * check(htone_sum(x, 1, &columns, 0, &y)); // [2]
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 6 && values[1] == 15);
 * check(htone_mean(x, 0, NULL, 0, &y)); // over all dimensions
 * check(htone_tensor_item(y, &number));
 * assert(number == 3.5);
 * @endcode
 */
#ifndef HALFTONE_REDUCE_H
#define HALFTONE_REDUCE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sums over dimensions.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the summed dimensions with size 1.
 * @param[out] out dtype of input for floats, i64 for integers and bool; owned by the caller. An empty sum is 0.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision pairwise in FP32 (f64: double), one rounding; integers in 64 bits, wrapping.
 * @since 0.1
 */
HTONE_API htone_status htone_sum(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                 htone_tensor** out);

/** Averages over dimensions.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the averaged dimensions with size 1.
 * @param[out] out dtype of input; owned by the caller. An empty mean is NaN.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision as htone_sum, one more rounding for the division; the mean of finite elements is finite, whatever their
 *   sum.
 * @since 0.1
 */
HTONE_API htone_status htone_mean(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/** Returns the largest element over dimensions. The largest elements share the gradient equally. A NaN is the largest;
 * its gradient goes to NaNs.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also if there is no element to choose), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.amax.
 * @since 0.1
 */
HTONE_API htone_status htone_amax(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/** Returns the smallest element over dimensions. The smallest elements share the gradient equally. A NaN is the
 * smallest; its gradient goes to NaNs.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also if there is no element to choose), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.amin.
 * @since 0.1
 */
HTONE_API htone_status htone_amin(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/** Returns the variance over dimensions: the sum of squared distances to the mean, divided by the number of elements
 * less `correction`. A divisor of 0 or less is replaced by 0: the result is NaN for equal elements, one or none,
 * infinity for others. The gradient is NaN or infinite there.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] correction subtracted from the number of elements, finite; 1 for a sample, 0 for a whole population.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input (f32 under autocast); owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision two passes in double, the mean first, one rounding; exactly 0 for equal elements. Squares beyond double
 *   do not matter where the variance is not.
 * @source torch.var.
 * @since 0.1
 */
HTONE_API htone_status htone_var(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction,
                                 int32_t keepdim, htone_tensor** out);

/** Returns the standard deviation over dimensions: the square root of what htone_var returns. A divisor of 0 or less is
 * replaced by 0: the result is NaN for equal elements, one or none, infinity for others. The gradient is NaN or
 * infinite there, and 0 if the result is 0.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] correction subtracted from the number of elements, finite; 1 for a sample, 0 for a whole population.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input (f32 under autocast); owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision two passes in double, the mean first, one rounding; exactly 0 for equal elements. Squares beyond double
 *   do not matter, and neither do squares too small for it.
 * @source torch.std.
 * @since 0.1
 */
HTONE_API htone_status htone_std(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction,
                                 int32_t keepdim, htone_tensor** out);

/** Returns the largest element along a dimension and its index. Among equal elements it is the first; a NaN is the
 * largest. The gradient goes to that element alone.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the reduced dimension with size 1.
 * @param[out] out_values dtype of input; owned by the caller.
 * @param[out] out_indices i64; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also if the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.max with a dimension; its documentation does not say which of equal elements it returns.
 * @since 0.1
 */
HTONE_API htone_status htone_max_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                                     htone_tensor** out_indices);

/** Returns the smallest element along a dimension and its index. Among equal elements it is the first; a NaN is the
 * smallest. The gradient goes to that element alone.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the reduced dimension with size 1.
 * @param[out] out_values dtype of input; owned by the caller.
 * @param[out] out_indices i64; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also if the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.min with a dimension; its documentation does not say which of equal elements it returns.
 * @since 0.1
 */
HTONE_API htone_status htone_min_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                                     htone_tensor** out_indices);

/** Returns the index of the largest element along a dimension. Never records for backward. Among equal elements it is
 * the first; a NaN is the largest. Reshape to one dimension for the index among all elements.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the reduced dimension with size 1.
 * @param[out] out i64; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also if the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_argmax(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out);

/** Returns the index of the smallest element along a dimension. Never records for backward. Among equal elements it is
 * the first; a NaN is the smallest. Reshape to one dimension for the index among all elements.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the reduced dimension with size 1.
 * @param[out] out i64; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also if the dimension has size 0), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_argmin(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out);

/** Returns whether any element is not 0, over dimensions; NaN is not 0. Never records for backward.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out bool; owned by the caller. For no elements it is false.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_any(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                 htone_tensor** out);

/** Returns whether all elements are not 0, over dimensions; NaN is not 0. Never records for backward.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out bool; owned by the caller. For no elements it is true.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_all(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                 htone_tensor** out);

/** Sums along a dimension, up to and with each element: out[i] = input[0] + ... + input[i].
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out shape of input; dtype of input for floats, i64 for integers and bool; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision added one by one in double, one rounding; integers in 64 bits, wrapping.
 * @since 0.1
 */
HTONE_API htone_status htone_cumsum(htone_tensor* input, int64_t dim, htone_tensor** out);

/** Returns log(sum(exp(input))) over dimensions, without overflow. The result is -inf if all elements are -inf or there
 * are none, and +inf if one element is; then the gradient of infinite entries is NaN.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input (f32 under autocast); owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision FP32 (f64: double) after subtracting the largest entry.
 * @since 0.1
 */
HTONE_API htone_status htone_log_sum_exp(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                         htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
