/** @file
 * Operations that write elements into a copy of a tensor, at places that indices name. htone_scatter_add is in index.h.
 *
 * Indices are i64 or i32 and count from 0. All are checked before anything is written. Where several elements are
 * assigned to one place, the last one in the order of the index stays, on every device and number of threads; it alone
 * gets the gradient.
 *
 * @code
 * const int64_t size = 2, wanted[] = {2, 0};
 * htone_tensor *columns, *part;
 * check(htone_tensor_create_copy(device, HTONE_I64, 1, &size, wanted, &columns));
 * check(htone_index_select(x, 1, columns, &part)); // [2, 2]
 * check(htone_index_add(x, 1, columns, part, &y)); // doubles two columns
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 2 && values[1] == 2 && values[2] == 6);
 * @endcode
 */
#ifndef HALFTONE_SCATTER_H
#define HALFTONE_SCATTER_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds slices to a copy of a tensor: out = input, then out[index[i], ...] += source[i, ...] for dimension 0.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index [n], i64 or i32, in [0, size of dim); borrowed.
 * @param[in] source dtype of input, shape of input with n in place of the size of dim; borrowed.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision as htone_scatter_add.
 * @source torch.index_add.
 * @since 0.1
 */
HTONE_API htone_status htone_index_add(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                       htone_tensor** out);

/** Writes slices into a copy of a tensor: out = input, then out[index[i], ...] = source[i, ...] for dimension 0.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index [n], i64 or i32, in [0, size of dim); of equal indices the last one counts; borrowed.
 * @param[in] source dtype of input, shape of input with n in place of the size of dim; borrowed.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.index_copy, which does not say which of equal indices counts.
 * @since 0.1
 */
HTONE_API htone_status htone_index_copy(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                        htone_tensor** out);

/** Writes elements into a copy of a tensor, each at an index of its own: out = input, then out[index[i, j], j] =
 * source[i, j] for dimension 0 of two.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index i64 or i32, in [0, size of dim); as many dimensions as input, no larger than source in any, and no
 *   larger than input in any except dim; of equal indices the last one counts; borrowed.
 * @param[in] source dtype of input; borrowed. Elements outside the shape of index are not used.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.scatter, which does not say which of equal indices counts.
 * @since 0.1
 */
HTONE_API htone_status htone_scatter(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                     htone_tensor** out);

/** Writes a number into a copy of a tensor at the places of an index, as htone_scatter does.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index i64 or i32, in [0, size of dim); as many dimensions as input, and no larger than input in any except
 *   dim; borrowed.
 * @param[in] number converted to the dtype of input; may be infinite.
 * @param[out] out shape and dtype of input; owned by the caller. The gradient is 0 at these elements.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.scatter with a number.
 * @since 0.1
 */
HTONE_API htone_status htone_scatter_scalar(htone_tensor* input, int64_t dim, htone_tensor* index, double number,
                                            htone_tensor** out);

/** How htone_scatter_reduce joins the elements of one place. */
typedef enum htone_scatter_reduction {
  HTONE_SCATTER_SUM = 0,                        /**< their sum */
  HTONE_SCATTER_PROD = 1,                       /**< their product */
  HTONE_SCATTER_MEAN = 2,                       /**< their mean; only of floats */
  HTONE_SCATTER_AMAX = 3,                       /**< the largest; NaN wins. Equal ones share the gradient */
  HTONE_SCATTER_AMIN = 4,                       /**< the smallest; NaN wins. Equal ones share the gradient */
  HTONE_SCATTER_REDUCTION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_scatter_reduction;

/** Joins elements with those of a copy of a tensor, each at an index of its own, as htone_scatter_add does for a sum.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index i64 or i32, in [0, size of dim); as many dimensions as input, no larger than source in any, and no
 *   larger than input in any except dim; borrowed.
 * @param[in] source dtype of input; borrowed. Elements outside the shape of index are not used.
 * @param[in] reduce how elements are joined.
 * @param[in] include_self not 0: the element of input is one of those that are joined. 0: it is replaced where the
 *   index names its place.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision joined in FP32 (f64: double, integers: i64 that wraps) in the order of the index and rounded once.
 * @source torch.scatter_reduce.
 * @since 0.1
 */
HTONE_API htone_status htone_scatter_reduce(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                            htone_scatter_reduction reduce, int32_t include_self, htone_tensor** out);

/** Writes elements into a copy of a tensor, or adds them, at the places that htone_index reads.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] index_count number of indices, from 1 to the dimensions of input.
 * @param[in] indices [index_count] i64 or i32, as in htone_index; borrowed.
 * @param[in] values dtype of input, of a shape that broadcasts to that of the result of htone_index; borrowed.
 * @param[in] accumulate not 0: adds the values, all of them where indices are equal. 0: writes them; of equal indices
 *   the last one counts.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision writes are exact; sums as in htone_scatter_add.
 * @source torch.index_put, which does not say which of equal indices counts.
 * @since 0.1
 */
HTONE_API htone_status htone_index_put(htone_tensor* input, size_t index_count, htone_tensor* const* indices,
                                       htone_tensor* values, int32_t accumulate, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
