/** @file
 * Random initialisation. Element i of a fill depends on the seed, the number of the fill and i alone: not on threads.
 */
#ifndef HALFTONE_INIT_H
#define HALFTONE_INIT_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fills a tensor with uniform numbers in [low, high), from the context's seed and next stream.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf or outside autograd; borrowed.
 * @param[in] low,high finite, low below high.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE.
 * @precision on a grid of 2^-24 of the range, rounded to the dtype (which may reach `high`).
 * @source Philox4x32-10, Salmon et al., SC 2011.
 * @since 0.1
 */
HTONE_API htone_status htone_init_uniform(htone_tensor* tensor, double low, double high);

/** Fills a tensor with normal numbers, from the context's seed and next stream.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf or outside autograd; borrowed.
 * @param[in] mean finite.
 * @param[in] std finite, at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE.
 * @source Philox4x32-10 and Box-Muller.
 * @since 0.1
 */
HTONE_API htone_status htone_init_normal(htone_tensor* tensor, double mean, double std);

/** Fills a tensor with ones and zeros, from the context's seed and next stream.
 *
 * @param[in] tensor any dtype; a leaf or outside autograd; borrowed.
 * @param[in] p how likely an element is 1, in [0, 1].
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE.
 * @precision p on a grid of 2^-24.
 * @source Philox4x32-10.
 * @since 0.1
 */
HTONE_API htone_status htone_init_bernoulli(htone_tensor* tensor, double p);

#ifdef __cplusplus
}
#endif

#endif
