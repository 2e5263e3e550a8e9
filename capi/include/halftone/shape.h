/** @file
 * Operations that give elements other places: views, and tensors put together from others. htone_reshape,
 * htone_transpose and htone_slice stand in ops.h.
 */
#ifndef HALFTONE_SHAPE_H
#define HALFTONE_SHAPE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Puts the dimensions into another order; shares storage.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions of input.
 * @param[in] dims [dim_count] each dimension once, negative from the end; dimension i of the result is dimension
 *   dims[i] of input; optional where dim_count is 0.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_permute(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out);

/** Inserts a dimension of size 1; shares storage.
 *
 * @param[in] input at most 7 dimensions, any dtype; borrowed.
 * @param[in] dim where it stands in the result, negative from the result's end.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_unsqueeze(htone_tensor* input, int64_t dim, htone_tensor** out);

/** Drops dimensions of size 1; shares storage. A dimension of another size stays, though it is named.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions named; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_squeeze(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out);

/** Repeats sizes of 1, and the whole input along new dimensions in front, without copying; shares storage. Writing into
 * the result in place is refused, since its elements share memory.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] ndim number of dimensions of the result.
 * @param[in] shape [ndim] sizes, aligned with input's at the last; -1 keeps input's size; optional where ndim is 0.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_broadcast_to(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out);

/** Puts tensors one behind another along a dimension.
 *
 * @param[in] count number of tensors, at least 1.
 * @param[in] tensors [count]; of one shape but for the size of dim, at least one dimension, any dtypes; borrowed.
 *   Other than in PyTorch an empty tensor of one dimension has to fit as well.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out in the dtype that all are promoted to; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_cat(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out);

/** Puts tensors one behind another along a new dimension.
 *
 * @param[in] count number of tensors, at least 1.
 * @param[in] tensors [count]; of one shape of at most 7 dimensions, any dtypes, one device; borrowed.
 * @param[in] dim where the new dimension stands in the result, negative from the result's end.
 * @param[out] out in the dtype that all are promoted to; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_stack(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out);

/** Cuts a tensor along a dimension; the parts share its storage. In backward their gradients are written side by side,
 * which is cheaper than slicing each part out.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] count number of parts, at least 1.
 * @param[in] sizes [count] sizes of the parts, whose sum is the dimension's.
 * @param[out] out [count] views of input in their order, each owned by the caller; none is made on failure.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_split(htone_tensor* input, int64_t dim, size_t count, const int64_t* sizes,
                                   htone_tensor** out);

/** Adds elements of one value around a tensor, or takes elements away.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] pair_count dimensions that change, counted from the last one; at most those of input.
 * @param[in] padding [2 * pair_count] for the last dimension what it gains in front and behind, then for the one
 *   before it; negative numbers take away; optional where pair_count is 0.
 * @param[in] value of the new elements, converted to the dtype of input.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_pad(htone_tensor* input, int32_t pair_count, const int64_t* padding, double value,
                                 htone_tensor** out);

/** Turns the order of elements around along dimensions.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions; 0 copies the input as it is.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * @param[out] out shape and dtype of input, contiguous; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_flip(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out);

/** Keeps the lower triangle of matrices, 0 elsewhere: of ones, the mask of causal attention.
 *
 * @param[in] input at least two dimensions, the last two are the matrices', any dtype; borrowed.
 * @param[in] diagonal the last one kept; 0 is the main one, 1 the one right of it.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tril(htone_tensor* input, int64_t diagonal, htone_tensor** out);

/** Keeps the upper triangle of matrices, 0 elsewhere.
 *
 * @param[in] input at least two dimensions, the last two are the matrices', any dtype; borrowed.
 * @param[in] diagonal the first one kept; 0 is the main one, 1 the one right of it.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_triu(htone_tensor* input, int64_t diagonal, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
