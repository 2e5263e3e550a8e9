/** @file
 * Operations that move elements: views, and tensors that are assembled from others or repeated.
 *
 * @code
 * const int64_t shape[] = {3, 2};
 * htone_tensor* pair[2];
 * check(htone_reshape(x, 2, shape, &y));
 * check(htone_transpose(x, 0, 1, &pair[0]));
 * pair[1] = y;
 * check(htone_cat(2, pair, 0, &y)); // [6, 2]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 12);
 * @endcode
 */
#ifndef HALFTONE_SHAPE_H
#define HALFTONE_SHAPE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Permutes the dimensions; shares storage.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions of input.
 * @param[in] dims [dim_count] each dimension once, negative from the end; dimension i of the result is dimension
 *   dims[i] of input; optional if dim_count is 0.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_permute(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out);

/** Inserts a dimension of size 1; shares storage.
 *
 * @param[in] input at most 7 dimensions, any dtype; borrowed.
 * @param[in] dim its position in the result, negative from the result's end.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_unsqueeze(htone_tensor* input, int64_t dim, htone_tensor** out);

/** Drops dimensions of size 1; shares storage. A named dimension of another size is kept.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions named; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_squeeze(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out);

/** Repeats sizes of 1, and the whole input along new dimensions in front, without copying; shares storage. The result
 * is read-only, since its elements share memory.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] ndim number of dimensions of the result.
 * @param[in] shape [ndim] sizes, aligned with those of input at the last dimension; -1 keeps input's size; optional if
 *   ndim is 0.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_broadcast_to(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out);

/** Concatenates tensors along a dimension.
 *
 * @param[in] count number of tensors, at least 1.
 * @param[in] tensors [count]; of one shape except for the size of dim, at least one dimension, any dtypes; borrowed.
 *   Unlike in PyTorch an empty tensor of one dimension must fit, too.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out in the dtype that all are promoted to; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_cat(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out);

/** Concatenates tensors along a new dimension.
 *
 * @param[in] count number of tensors, at least 1.
 * @param[in] tensors [count]; of one shape of at most 7 dimensions, any dtypes, one device; borrowed.
 * @param[in] dim position of the new dimension in the result, negative from the result's end.
 * @param[out] out in the dtype that all are promoted to; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_stack(size_t count, htone_tensor* const* tensors, int64_t dim, htone_tensor** out);

/** Splits a tensor along a dimension; the parts share its storage. Backward writes their gradients side by side, which
 * is cheaper than one htone_slice for each part.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] count number of parts, at least 1.
 * @param[in] sizes [count] sizes of the parts; their sum is the dimension's size.
 * @param[out] out [count] views of input in their order, each owned by the caller; none is made on failure.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_split(htone_tensor* input, int64_t dim, size_t count, const int64_t* sizes,
                                   htone_tensor** out);

/** Adds elements of one value around a tensor, or removes elements.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] pair_count dimensions that change, counted from the last one; at most those of input.
 * @param[in] padding [2 * pair_count] numbers of elements to add before and after the last dimension, then the one
 *   before it; negative numbers remove elements; optional if pair_count is 0.
 * @param[in] value of the new elements, converted to the dtype of input.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_pad(htone_tensor* input, int32_t pair_count, const int64_t* padding, double value,
                                 htone_tensor** out);

/** Reverses the order of elements along dimensions.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions; 0 copies the input as it is.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[out] out shape and dtype of input, contiguous; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_flip(htone_tensor* input, int32_t dim_count, const int64_t* dims, htone_tensor** out);

/** Keeps the lower triangle of matrices, 0 elsewhere. Applied to ones it makes the mask of causal attention.
 *
 * @param[in] input at least two dimensions, of which the last two are the matrices, any dtype; borrowed.
 * @param[in] diagonal the last one kept; 0 is the main one, 1 the one right of it.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tril(htone_tensor* input, int64_t diagonal, htone_tensor** out);

/** Keeps the upper triangle of matrices, 0 elsewhere.
 *
 * @param[in] input at least two dimensions, of which the last two are the matrices, any dtype; borrowed.
 * @param[in] diagonal the first one kept; 0 is the main one, 1 the one right of it.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_triu(htone_tensor* input, int64_t diagonal, htone_tensor** out);

/** Changes the shape; shares storage if the strides allow it, else copies.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes with the same product; one may be -1; optional if ndim is 0.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_reshape(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out);

/** Swaps two dimensions; shares storage.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim0,dim1 dimensions, negative from the end.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_transpose(htone_tensor* input, int64_t dim0, int64_t dim1, htone_tensor** out);

/** Selects every step-th index of [start, end) of one dimension; shares storage.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] start,end indices, negative from the end, clamped to the size; the result is empty if end is at or before
 *   start.
 * @param[in] step at least 1.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_slice(htone_tensor* input, int64_t dim, int64_t start, int64_t end, int64_t step,
                                   htone_tensor** out);

/** Repeats a tensor along its dimensions.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] repeat_count number of repeats. Where there are fewer than dimensions they belong to the last ones; where
 *   there are more, the input gets dimensions of size 1 in front.
 * @param[in] repeats [repeat_count] at least 0; optional where repeat_count is 0.
 * @param[out] out dtype of input, contiguous; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision exact; the gradient is added up in FP32 (f64: double).
 * @source torch.tile.
 * @since 0.1
 */
HTONE_API htone_status htone_tile(htone_tensor* input, int32_t repeat_count, const int64_t* repeats,
                                  htone_tensor** out);

/** Moves elements along dimensions; those that leave at one end come in at the other.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim_count number of dimensions; 0 copies the input as it is.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * @param[in] shifts [dim_count] by how many indices, negative towards the beginning; optional where dim_count is 0.
 * @param[out] out shape and dtype of input, contiguous; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.roll.
 * @since 0.1
 */
HTONE_API htone_status htone_roll(htone_tensor* input, int32_t dim_count, const int64_t* dims, const int64_t* shifts,
                                  htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
