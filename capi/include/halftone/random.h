/** @file
 * Operations that draw random numbers, and their layer. Random fills are in init.h.
 *
 * @code
 * check(htone_dropout(x, 0.5, 1, &y)); // each element is 0 or doubled
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[5] == 0 || values[5] == 12);
 * @endcode
 */
#ifndef HALFTONE_RANDOM_H
#define HALFTONE_RANDOM_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Drops elements at random and scales the others by 1 / (1 - p). The choice depends only on the context's seed, the
 * number of the draw and the element's position, not on threads, strides or dtype. The mask is not stored; backward
 * draws it again.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] p probability that an element is dropped, in [0, 1].
 * @param[in] training 0 returns the input unchanged.
 * @param[out] out as input; owned by the caller. It is the input itself if training is 0 or p is 0. A dropped element
 *   is multiplied by 0: NaN and infinity become NaN.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision p on a grid of 2^-24; products in FP32 (f64: double), rounded once.
 * @source Srivastava et al., JMLR 15, 2014; Philox4x32-10, Salmon et al., SC 2011.
 * @since 0.1
 */
HTONE_API htone_status htone_dropout(htone_tensor* input, double p, int32_t training, htone_tensor** out);

/** Makes a tensor of the numbers from 0 to n - 1 in random order. The order depends only on the context's seed, the
 * number of the draw and n.
 *
 * @param[in] device borrowed.
 * @param[in] n number of elements, at least 0.
 * @param[out] out [n], i64; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source Fisher and Yates, with indices of 64 bits from Philox4x32-10; torch.randperm returns other orders.
 * @since 0.1
 */
HTONE_API htone_status htone_randperm(htone_device* device, int64_t n, htone_tensor** out);

/** Makes a module that applies htone_dropout in training mode, and nothing in evaluation mode.
 *
 * @param[in] p probability that an element is dropped, in [0, 1].
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_dropout(double p, htone_module** out);

/** Makes a tensor of uniform numbers in [0, 1), from the context's seed and next random sequence, as htone_init_uniform
 * does.
 *
 * @param[in] device borrowed.
 * @param[in] dtype f64, f32, f16 or bf16.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional where ndim is 0.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision on a grid of 2^-24, rounded to the dtype (f16 and bf16 may reach 1).
 * @source Philox4x32-10, Salmon et al., SC 2011; torch.rand draws others.
 * @since 0.1
 */
HTONE_API htone_status htone_rand(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                  htone_tensor** out);

/** Makes a tensor of normal numbers of mean 0 and standard deviation 1, from the context's seed and next random
 * sequence, as htone_init_normal does.
 *
 * @param[in] device borrowed.
 * @param[in] dtype f64, f32, f16 or bf16.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional where ndim is 0.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source Philox4x32-10 and Box-Muller; torch.randn draws others.
 * @since 0.1
 */
HTONE_API htone_status htone_randn(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                   htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
