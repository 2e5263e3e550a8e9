/** @file
 * Tensors that are repeated or rotated. Each makes a copy and, where the input requires a gradient, records itself.
 */
#ifndef HALFTONE_TILE_H
#define HALFTONE_TILE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

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
