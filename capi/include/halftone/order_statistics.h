/** @file
 * Elements at a rank of the order along a dimension, such as medians, and running maxima and minima. A NaN counts as
 * the largest element, and -0 equals 0, as in htone_sort.
 *
 * @code
 * htone_tensor* places;
 * check(htone_median_dim(x, 1, 0, &y, &places));
 * check(htone_tensor_read(y, HTONE_F32, values, 2 * sizeof(float)));
 * assert(values[0] == 2 && values[1] == 5);
 * @endcode
 */
#ifndef HALFTONE_ORDER_STATISTICS_H
#define HALFTONE_ORDER_STATISTICS_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the k-th smallest element along a dimension. Of equal elements those with lower indices come first. The
 * gradient of a value goes to the element that it came from.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] k from 1 to the size of dim.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the dimension with size 1.
 * @param[out] out_values dtype of input; owned by the caller.
 * @param[out] out_indices i64; the index of each value along dim; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.kthvalue, which does not say which of equal elements it returns.
 * @since 0.1
 */
HTONE_API htone_status htone_kthvalue(htone_tensor* input, int64_t k, int64_t dim, int32_t keepdim,
                                      htone_tensor** out_values, htone_tensor** out_indices);

/** Returns the median of all elements: the lower one of the two in the middle of an even number. Elements that equal it
 * share the gradient.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed. Without elements it must be float.
 * @param[out] out a scalar, dtype of input; NaN if an element is NaN, or if there is none; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.median.
 * @since 0.1
 */
HTONE_API htone_status htone_median(htone_tensor* input, htone_tensor** out);

/** Returns the median along a dimension: the lower one of the two in the middle of an even number. The gradient of a
 * value goes to the element that it came from.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; at least one element along dim; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the dimension with size 1.
 * @param[out] out_values dtype of input; NaN if an element is NaN; owned by the caller.
 * @param[out] out_indices i64; the index of each value along dim, of NaN the first; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.median, which does not say which of equal elements it returns.
 * @since 0.1
 */
HTONE_API htone_status htone_median_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                                        htone_tensor** out_indices);

/** The value of htone_quantile for a rank that is between two elements. */
typedef enum htone_interpolation {
  HTONE_INTERPOLATION_LINEAR = 0,           /**< on the line between both */
  HTONE_INTERPOLATION_LOWER = 1,            /**< the lower element */
  HTONE_INTERPOLATION_HIGHER = 2,           /**< the higher element */
  HTONE_INTERPOLATION_NEAREST = 3,          /**< the nearer element; in the middle the one of even rank */
  HTONE_INTERPOLATION_MIDPOINT = 4,         /**< the mean of both */
  HTONE_INTERPOLATION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_interpolation;

/** Returns a quantile along a dimension: the element of rank q (n - 1) in ascending order, of n elements.
 *
 * @param[in] input any shape, float; at least one element along dim; borrowed.
 * @param[in] q in [0, 1].
 * @param[in] dim the dimension, negative from the end.
 * @param[in] keepdim not 0 keeps the dimension with size 1.
 * @param[in] interpolation the value for a rank that is not whole.
 * @param[out] out dtype of input; NaN if an element is NaN; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision the rank is computed in double; interpolated in FP32 (f64: double) and rounded once.
 * @source torch.quantile; Hyndman and Fan, 1996, definition 7.
 * @since 0.1
 */
HTONE_API htone_status htone_quantile(htone_tensor* input, double q, int64_t dim, int32_t keepdim,
                                      htone_interpolation interpolation, htone_tensor** out);

/** Returns the largest element up to and with each element along a dimension. The gradient of a value goes to the
 * element that it came from.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out_values shape and dtype of input; NaN from the first NaN on; owned by the caller.
 * @param[out] out_indices shape of input, i64; the index of each value along dim, of equal ones the last; owned by the
 *   caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients add up as in htone_scatter_add.
 * @source torch.cummax.
 * @since 0.1
 */
HTONE_API htone_status htone_cummax(htone_tensor* input, int64_t dim, htone_tensor** out_values,
                                    htone_tensor** out_indices);

/** Returns the smallest element up to and with each element along a dimension. The gradient of a value goes to the
 * element that it came from.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out_values shape and dtype of input; NaN from the first NaN on; owned by the caller.
 * @param[out] out_indices shape of input, i64; the index of each value along dim, of equal ones the last; owned by the
 *   caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients add up as in htone_scatter_add.
 * @source torch.cummin.
 * @since 0.1
 */
HTONE_API htone_status htone_cummin(htone_tensor* input, int64_t dim, htone_tensor** out_values,
                                    htone_tensor** out_indices);

#ifdef __cplusplus
}
#endif

#endif
