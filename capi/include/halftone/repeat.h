/** @file
 * Operations that repeat elements, and diagonals of matrices. htone_tile is in shape.h.
 *
 * @code
 * const int64_t size = 6;
 * htone_tensor* line;
 * check(htone_reshape(x, 1, &size, &line));
 * check(htone_slice(line, 0, 0, 3, 1, &line));
 * check(htone_repeat_interleave(line, 2, 0, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 1 && values[1] == 1 && values[2] == 2);
 * @endcode
 */
#ifndef HALFTONE_REPEAT_H
#define HALFTONE_REPEAT_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Repeats each element of a dimension, one copy beside the other.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] count copies of each element, at least 0.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out as input, but of count times the size in dim; contiguous; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision exact; gradients are added up in FP32 (f64: double).
 * @source torch.repeat_interleave.
 * @since 0.1
 */
HTONE_API htone_status htone_repeat_interleave(htone_tensor* input, int64_t count, int64_t dim, htone_tensor** out);

/** Repeats each element of a dimension as often as a count of its own says. Waits for the device, since the shape of
 * the result depends on the counts.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] counts [size of dim], i64 or i32, at least 0; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out as input, but of as many elements in dim as the counts add up to; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact; gradients add up as in htone_scatter_add.
 * @source torch.repeat_interleave.
 * @since 0.1
 */
HTONE_API htone_status htone_repeat_interleave_counts(htone_tensor* input, htone_tensor* counts, int64_t dim,
                                                      htone_tensor** out);

/** Puts a vector on a diagonal of a square matrix of zeros, or returns the diagonal of a matrix; a copy.
 *
 * @param[in] input [n] or [rows, columns], any dtype; borrowed.
 * @param[in] diagonal 0 is the main diagonal; those above it are positive.
 * @param[out] out the smallest square matrix, or a vector, empty if the matrix has no such diagonal; dtype of input;
 *   owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.diag.
 * @since 0.1
 */
HTONE_API htone_status htone_diag(htone_tensor* input, int64_t diagonal, htone_tensor** out);

/** Repeats vectors to grids of coordinates: grid i has one dimension for each vector, and its elements depend only on
 * their index in dimension i.
 *
 * @param[in] count number of vectors, from 1 to 8.
 * @param[in] tensors [count] vectors or scalars of any dtypes; borrowed.
 * @param[in] xy not 0: the first two vectors exchange their dimensions, as in "xy" indexing; else "ij".
 * @param[out] out_grids [count] views of the tensors, each owned by the caller; none is made on failure.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients are added up in FP32 (f64: double).
 * @source torch.meshgrid.
 * @since 0.1
 */
HTONE_API htone_status htone_meshgrid(size_t count, htone_tensor* const* tensors, int32_t xy, htone_tensor** out_grids);

#ifdef __cplusplus
}
#endif

#endif
