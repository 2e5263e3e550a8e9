/* Operations that draw, and the layer made of them. Random fills stand in init.h. */
#ifndef HALFTONE_RANDOM_H
#define HALFTONE_RANDOM_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Drops elements at random and scales the others by 1 / (1 - p). Which ones depends on the context's seed, the number
 * of the draw and the element's place alone: not on threads, strides or dtype. The mask is not stored; backward draws
 * it again.
 *
 * [in] input: any shape, float; borrowed.
 * [in] p: how likely an element is dropped, in [0, 1].
 * [in] training: 0 leaves the input as it is.
 * [out] out: as input; owned by the caller. The same tensor where training is 0 or p is 0. A dropped element is
 *   multiplied by 0: NaN and infinity give NaN.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: p on a grid of 2^-24; products in FP32 (f64: double), rounded once.
 * Source: Srivastava et al., JMLR 15, 2014; Philox4x32-10, Salmon et al., SC 2011.
 * Since: 0.1
 */
HTONE_API htone_status htone_dropout(htone_tensor* input, double p, int32_t training, htone_tensor** out);

/* Makes a tensor of the numbers from 0 to n - 1 in random order. Which one depends on the context's seed, the number of
 * the draw and n alone.
 *
 * [in] device: borrowed.
 * [in] n: how many, at least 0.
 * [out] out: [n], i64; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Source: Fisher and Yates, with indices of 64 bits from Philox4x32-10; torch.randperm draws others.
 * Since: 0.1
 */
HTONE_API htone_status htone_randperm(htone_device* device, int64_t n, htone_tensor** out);

/* Makes a module that applies htone_dropout in training mode, and nothing in evaluation mode.
 *
 * [in] p: how likely an element is dropped, in [0, 1].
 * [out] out: the module; owned by the caller.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_module_create_dropout(double p, htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
