/** @file
 * Norms of vectors, and mean and variance together. What ops.h says of operations is true here.
 *
 * @code
 * htone_tensor* mean;
 * check(htone_var_mean(x, 0, NULL, 0, 0, &y, &mean));
 * check(htone_tensor_item(mean, &number));
 * assert(number == 3.5);
 * @endcode
 */
#ifndef HALFTONE_MOMENTS_H
#define HALFTONE_MOMENTS_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the p-norm over dimensions: (sum of |input|^p)^(1/p). For p = infinity it is the largest magnitude, for
 * -infinity the smallest, and for 0 the number of elements that are not 0. The gradient at an element of 0 is 0, also
 * where the norm is 0; for the infinities equal magnitudes share it.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] p any number or an infinity, not NaN.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input (f32 under autocast); owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also where p is below 0 or infinite and there is no element),
 *   DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision in double, one rounding; powers that leave double's range, up or down, do not matter.
 * @source torch.linalg.vector_norm.
 * @since 0.1
 */
HTONE_API htone_status htone_vector_norm(htone_tensor* input, double p, int32_t dim_count, const int64_t* dims,
                                         int32_t keepdim, htone_tensor** out);

/** Returns variance and mean over dimensions, as htone_var and htone_mean do.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * @param[in] correction the number of elements is reduced by it before it divides, finite; 1 for a sample, 0 for a
 *   population.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out_variance dtype of input (f32 under autocast); owned by the caller.
 * @param[out] out_mean as out_variance; owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision two passes in double, the mean first, one rounding each; equal elements have a variance of exactly 0.
 * @source torch.var_mean.
 * @since 0.1
 */
HTONE_API htone_status htone_var_mean(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction,
                                      int32_t keepdim, htone_tensor** out_variance, htone_tensor** out_mean);

#ifdef __cplusplus
}
#endif

#endif
