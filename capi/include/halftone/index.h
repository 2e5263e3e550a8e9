/** @file
 * Operations that read and write by index, and the embedding layer. Further writes are in scatter.h.
 *
 * Indices are i64 or i32 and count from 0. All are checked before anything is written. Unlike in PyTorch they never
 * count from the end.
 *
 * @code
 * const int64_t size = 2, wanted[] = {2, 0};
 * htone_tensor* columns;
 * check(htone_tensor_create_copy(device, HTONE_I64, 1, &size, wanted, &columns));
 * check(htone_index_select(x, 1, columns, &y)); // [2, 2]
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 3 && values[1] == 1);
 * @endcode
 */
#ifndef HALFTONE_INDEX_H
#define HALFTONE_INDEX_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Picks elements along a dimension, each by an index of its own: out[i, j] = input[index[i, j], j] for dimension 0 of
 * two.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index i64 or i32, in [0, size of dim); as many dimensions as input, no larger than it in any dimension
 *   except dim; borrowed.
 * @param[out] out shape of index, dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact; gradients add up as in htone_scatter_add.
 * @since 0.1
 */
HTONE_API htone_status htone_gather(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor** out);

/** Adds elements to a copy of a tensor, each at an index of its own: out = input, then out[index[i, j], j] +=
 * source[i, j] for dimension 0 of two.
 *
 * @param[in] input at least one dimension; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] index i64 or i32, in [0, size of dim); as many dimensions as input, no larger than source in any, and no
 *   larger than input in any except dim; borrowed.
 * @param[in] source dtype of input; borrowed. Elements outside the shape of index are not used.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision every element is summed in FP32 (f64: double, integers: i64 that wraps) in the order of the index, which
 *   does not depend on the number of threads, and is rounded once.
 * @since 0.1
 */
HTONE_API htone_status htone_scatter_add(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                         htone_tensor** out);

/** Picks whole slices along a dimension.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] indices [n], i64 or i32, in [0, size of dim); borrowed.
 * @param[out] out as input, but of size n in dim; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact; gradients add up as in htone_scatter_add.
 * @since 0.1
 */
HTONE_API htone_status htone_index_select(htone_tensor* input, int64_t dim, htone_tensor* indices, htone_tensor** out);

/** Picks elements by a list of indices: out[i] = input[indices[0][i], indices[1][i], ...], where i runs over the shape
 * to which the indices broadcast.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] index_count number of indices, from 1 to the dimensions of input.
 * @param[in] indices [index_count] i64 or i32, one for each of the first dimensions, in [0, its size); of shapes that
 *   broadcast together; borrowed.
 * @param[out] out the shape to which the indices broadcast, then the dimensions of input that have no index, at most 8
 *   together; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact; gradients add up as in htone_scatter_add.
 * @source torch.Tensor.__getitem__ with tensors of integers.
 * @since 0.1
 */
HTONE_API htone_status htone_index(htone_tensor* input, size_t index_count, htone_tensor* const* indices,
                                   htone_tensor** out);

/** Picks the elements at which a mask is true, in row-major order. Waits for the device, since the shape of the result
 * depends on the mask.
 *
 * @param[in] input any dtype; borrowed.
 * @param[in] mask bool, of a shape that broadcasts with input's; borrowed.
 * @param[out] out [count], dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact; gradients of an element that was repeated are added up in FP32 (f64: double).
 * @source torch.masked_select.
 * @since 0.1
 */
HTONE_API htone_status htone_masked_select(htone_tensor* input, htone_tensor* mask, htone_tensor** out);

/** Replaces the elements at which a mask is true by a value.
 *
 * @param[in] input any dtype but an 8-bit float; borrowed.
 * @param[in] mask bool, of a shape that broadcasts with input's; borrowed.
 * @param[in] value converted to the dtype of input; may be infinite.
 * @param[out] out of the broadcast shape, dtype of input; owned by the caller. The gradient is 0 at these elements.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_masked_fill(htone_tensor* input, htone_tensor* mask, double value, htone_tensor** out);

/** Looks up rows of a table.
 *
 * @param[in] weight [n, d], float; borrowed.
 * @param[in] indices any shape of at most 7 dimensions, i64 or i32, in [0, n); borrowed.
 * @param[in] padding_index a row that gets no gradient; -1 for none. Unlike in PyTorch other negative numbers are
 *   refused.
 * @param[out] out shape of indices, then d; dtype of weight; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision exact. Gradients of a row are summed in FP32 (f64: double) in the order of indices, which does not depend
 *   on the number of threads. They are added directly to the gradient of a leaf if that is FP32.
 * @since 0.1
 */
HTONE_API htone_status htone_embedding(htone_tensor* weight, htone_tensor* indices, int64_t padding_index,
                                       htone_tensor** out);

/** Settings of htone_module_create_embedding. */
typedef struct htone_embedding_options {
  uint32_t struct_size;  /**< sizeof of this structure */
  htone_dtype dtype;     /**< of the weights: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  int64_t padding_index; /**< a row that begins as 0 and gets no gradient; default -1, none */
} htone_embedding_options;

/** The defaults, to initialize an htone_embedding_options where it is declared. */
#define HTONE_EMBEDDING_OPTIONS_INIT \
  { sizeof(htone_embedding_options), HTONE_F32, -1 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_embedding_options_init(htone_embedding_options* options);

/** Makes a layer that applies htone_embedding: indices of any shape to [..., embedding_dim].
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] num_embeddings,embedding_dim rows and columns of the table, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with the parameter "weight" [num_embeddings, embedding_dim], normal with mean 0 and deviation 1;
 *   owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.Embedding.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_embedding(htone_device* device, int64_t num_embeddings,
                                                     int64_t embedding_dim, const htone_embedding_options* options,
                                                     htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
