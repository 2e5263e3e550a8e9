/** @file
 * Operations that search values in tensors, and count them.
 *
 * @code
 * check(htone_searchsorted(x, x, 0, &y)); // each row of x in itself
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 0 && values[5] == 2);
 * @endcode
 */
#ifndef HALFTONE_SEARCH_H
#define HALFTONE_SEARCH_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the index at which each value would be inserted into a sorted sequence, by bisection. A NaN counts as the
 * largest element, and -0 equals 0. Never records for backward.
 *
 * @param[in] sorted_sequence [n], or [..., n] with the dimensions of values in all but the last one; any dtype but
 *   8-bit floats; ascending along the last dimension, else the indices have no meaning; borrowed.
 * @param[in] values dtype of sorted_sequence; any shape if that has one dimension; borrowed.
 * @param[in] right not 0: behind equal elements, else before them.
 * @param[out] out shape of values, i64, in [0, n]; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.searchsorted.
 * @since 0.1
 */
HTONE_API htone_status htone_searchsorted(htone_tensor* sorted_sequence, htone_tensor* values, int32_t right,
                                          htone_tensor** out);

/** Finds the elements that are in a set. A NaN is in none. Never records for backward.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] elements the set: any shape, dtype of input; borrowed.
 * @param[out] out shape of input, bool; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.isin.
 * @since 0.1
 */
HTONE_API htone_status htone_isin(htone_tensor* input, htone_tensor* elements, htone_tensor** out);

/** Counts how often each number from 0 on occurs, or adds up weights. Waits for the device, since the shape of the
 * result depends on the elements.
 *
 * @param[in] input [n], i64 or i32, at least 0; borrowed.
 * @param[in] weights optional; [n], float: what each element counts; borrowed.
 * @param[in] minlength the least size of the result, at least 0.
 * @param[out] out a vector for the numbers up to the largest element, at least minlength long; i64, or dtype of
 *   weights; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_scatter_add.
 * @source torch.bincount.
 * @since 0.1
 */
HTONE_API htone_status htone_bincount(htone_tensor* input, htone_tensor* weights, int64_t minlength,
                                      htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
