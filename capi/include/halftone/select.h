/** @file
 * Operations that choose elements: by their order, by chance, or because they are not 0.
 *
 * @code
 * htone_tensor* places;
 * check(htone_topk(x, 1, 1, 1, 1, &y, &places)); // the largest of each row
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 3 && values[1] == 6);
 * @endcode
 */
#ifndef HALFTONE_SELECT_H
#define HALFTONE_SELECT_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sorts the elements along a dimension. The sort is stable: equal elements keep the order of their indices, and -0
 * equals 0. A NaN counts as the largest element. The gradient of a value goes to the element that it came from.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] descending not 0: the largest element first.
 * @param[out] out_values shape and dtype of input; owned by the caller.
 * @param[out] out_indices shape of input, i64; the index of each value along dim; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.sort with stable=True.
 * @since 0.1
 */
HTONE_API htone_status htone_sort(htone_tensor* input, int64_t dim, int32_t descending, htone_tensor** out_values,
                                  htone_tensor** out_indices);

/** Returns the indices that sort the elements along a dimension, in the order of htone_sort. Never records for
 * backward.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] descending not 0: the largest element first.
 * @param[out] out shape of input, i64; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.argsort with stable=True.
 * @since 0.1
 */
HTONE_API htone_status htone_argsort(htone_tensor* input, int64_t dim, int32_t descending, htone_tensor** out);

/** Returns the k largest or smallest elements along a dimension. Of equal elements those with the lowest indices are
 * chosen. A NaN counts as the largest element. The gradient of a value goes to the element that it came from.
 *
 * @param[in] input any shape, any dtype but 8-bit floats; borrowed.
 * @param[in] k the number of elements, from 0 to the size of dim.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] largest not 0: the largest elements, else the smallest.
 * @param[in] sorted not 0: the values come in the order of htone_sort, else in the order of their indices, which is
 *   faster.
 * @param[out] out_values shape of input with k in the place of dim's size, dtype of input; owned by the caller.
 * @param[out] out_indices shape of out_values, i64; the index of each value along dim; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.topk, which does not say which of equal elements it returns.
 * @since 0.1
 */
HTONE_API htone_status htone_topk(htone_tensor* input, int64_t k, int64_t dim, int32_t largest, int32_t sorted,
                                  htone_tensor** out_values, htone_tensor** out_indices);

/** Draws categories at random, each in proportion to its probability. The draws depend only on the context's seed, the
 * number of the draw and the probabilities: not on threads. Never records for backward.
 *
 * @param[in] probabilities [n] or [b, n], float, finite and at least 0; need not add up to 1. A row needs one number
 *   above 0, without replacement num_samples of them; borrowed.
 * @param[in] num_samples the number of draws in each row, at least 1; at most n without replacement.
 * @param[in] replacement not 0: a category may be drawn more than once.
 * @param[out] out [num_samples] or [b, num_samples], i64, in the order of the draws; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a row that does not allow the draws), SHAPE_MISMATCH, DTYPE_MISMATCH,
 *   OUT_OF_MEMORY.
 * @precision sums of probabilities in double, random numbers of 53 bits. A category of probability 0 is never drawn.
 * @source torch.multinomial, which draws others; Philox4x32-10, Salmon et al., SC 2011.
 * @since 0.1
 */
HTONE_API htone_status htone_multinomial(htone_tensor* probabilities, int64_t num_samples, int32_t replacement,
                                         htone_tensor** out);

/** Returns the indices of the elements that are not 0, in row-major order; NaN is not 0. Waits for the device, since
 * the shape of the result depends on the elements. Never records for backward.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[out] out [count, ndim of input], i64; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.nonzero.
 * @since 0.1
 */
HTONE_API htone_status htone_nonzero(htone_tensor* input, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
