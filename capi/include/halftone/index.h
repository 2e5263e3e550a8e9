/* Operations that read and write by index, and the embedding layer made of them.
 *
 * Indices are i64 or i32 and count from 0; every one is checked before anything is written. Unlike in PyTorch none
 * counts from the end.
 */
#ifndef HALFTONE_INDEX_H
#define HALFTONE_INDEX_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Picks elements along a dimension, each by an index of its own: out[i, j] = input[index[i, j], j] for dimension 0 of
 * two.
 *
 * [in] input: at least one dimension, any dtype; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] index: i64 or i32, in [0, size of dim); as many dimensions as input, no larger than it in any other than dim;
 *   borrowed.
 * [out] out: shape of index, dtype of input; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * Precision: exact; gradients add up as in htone_scatter_add.
 * Since: 0.1
 */
HTONE_API htone_status htone_gather(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor** out);

/* Adds elements to a copy of a tensor, each at an index of its own: out = input, then out[index[i, j], j] +=
 * source[i, j] for dimension 0 of two.
 *
 * [in] input: at least one dimension; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] index: i64 or i32, in [0, size of dim); as many dimensions as input, no larger than source in any, nor than
 *   input in any other than dim; borrowed.
 * [in] source: dtype of input; borrowed. Elements that index does not reach are left out.
 * [out] out: shape and dtype of input; owned by the caller.
 * Autocast: widest.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * Precision: every element adds up in FP32 (f64: double, integers: i64 that wraps) in the order of the index, for any
 *   number of threads the same, and is rounded once.
 * Since: 0.1
 */
HTONE_API htone_status htone_scatter_add(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                         htone_tensor** out);

/* Picks whole slices along a dimension.
 *
 * [in] input: at least one dimension, any dtype; borrowed.
 * [in] dim: the dimension, negative from the end.
 * [in] indices: [n], i64 or i32, in [0, size of dim); borrowed.
 * [out] out: as input, with n in the place of dim's size; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * Precision: exact; gradients add up as in htone_scatter_add.
 * Since: 0.1
 */
HTONE_API htone_status htone_index_select(htone_tensor* input, int64_t dim, htone_tensor* indices, htone_tensor** out);

/* Puts a value where a mask is true.
 *
 * [in] input: any dtype but an 8-bit float; borrowed.
 * [in] mask: bool, of a shape that broadcasts with input's; borrowed.
 * [in] value: converted to the dtype of input; may be infinite.
 * [out] out: of the broadcast shape, dtype of input; owned by the caller. No gradient flows where the mask is true.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_masked_fill(htone_tensor* input, htone_tensor* mask, double value, htone_tensor** out);

/* Looks rows of a table up.
 *
 * [in] weight: [n, d], float; borrowed.
 * [in] indices: any shape of at most 7 dimensions, i64 or i32, in [0, n); borrowed.
 * [in] padding_index: a row that takes no gradient; -1 for none. Unlike in PyTorch no other negative number is taken.
 * [out] out: shape of indices with d behind it, dtype of weight; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (an index out of range), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * Precision: exact. Gradients of a row add up in FP32 (f64: double) in the order of indices, for any number of threads
 *   the same; into the gradient of a leaf directly where that is FP32.
 * Since: 0.1
 */
HTONE_API htone_status htone_embedding(htone_tensor* weight, htone_tensor* indices, int64_t padding_index,
                                       htone_tensor** out);

typedef struct htone_embedding_options {
  uint32_t struct_size;
  htone_dtype dtype;     /* of the weights: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  int64_t padding_index; /* a row that begins as 0 and takes no gradient; default -1, none */
} htone_embedding_options;

/* Fills options with the defaults.
 *
 * [out] options: caller's memory.
 * Errors: INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_embedding_options_init(htone_embedding_options* options);

/* Makes a layer that applies htone_embedding: indices of any shape to [..., embedding_dim].
 *
 * [in] device: of the parameters; borrowed.
 * [in] num_embeddings, embedding_dim: rows and columns of the table, at least 1.
 * [in] options: optional; NULL means the defaults.
 * [out] out: with the parameter "weight" [num_embeddings, embedding_dim], normal with mean 0 and deviation 1; owned by
 *   the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * Source: the defaults of torch.nn.Embedding.
 * Since: 0.1
 */
HTONE_API htone_status htone_module_create_embedding(htone_device* device, int64_t num_embeddings,
                                                     int64_t embedding_dim, const htone_embedding_options* options,
                                                     htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
