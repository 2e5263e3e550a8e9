/** @file
 * More functions of one tensor, computed element by element: rounding, the sign, the error function, functions that
 * keep their digits near 0, and activations with a number. The conventions are those of elementwise.h.
 */
#ifndef HALFTONE_UNARY_H
#define HALFTONE_UNARY_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rounds down to a whole number. The gradient is 0.
 *
 * @param[in] input any shape, float or integer; borrowed.
 * @param[out] out as input; an integer is copied; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.floor.
 * @since 0.1
 */
HTONE_API htone_status htone_floor(htone_tensor* input, htone_tensor** out);

/** Rounds up to a whole number. The gradient is 0.
 *
 * @param[in] input any shape, float or integer; borrowed.
 * @param[out] out as input; an integer is copied; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.ceil.
 * @since 0.1
 */
HTONE_API htone_status htone_ceil(htone_tensor* input, htone_tensor** out);

/** Rounds to the nearest whole number, halves to the even one. The gradient is 0.
 *
 * @param[in] input any shape, float or integer; borrowed.
 * @param[out] out as input; an integer is copied; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.round.
 * @since 0.1
 */
HTONE_API htone_status htone_round(htone_tensor* input, htone_tensor** out);

/** Returns 1 above 0, -1 below, and 0 for zeros and NaN. The gradient is 0.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.sign.
 * @since 0.1
 */
HTONE_API htone_status htone_sign(htone_tensor* input, htone_tensor** out);

/** Returns the error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to input.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype where that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.erf.
 * @since 0.1
 */
HTONE_API htone_status htone_erf(htone_tensor* input, htone_tensor** out);

/** Returns ln(1 + input), exact to the last digits where input is close to 0: -inf at -1, NaN below.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype where that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.log1p.
 * @since 0.1
 */
HTONE_API htone_status htone_log1p(htone_tensor* input, htone_tensor** out);

/** Returns e^input - 1, exact to the last digits where input is close to 0.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype where that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.expm1.
 * @since 0.1
 */
HTONE_API htone_status htone_expm1(htone_tensor* input, htone_tensor** out);

/** Applies the rectifier with a slope below 0: out = input where that is above 0, else negative_slope * input. The
 * gradient at 0 is negative_slope.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] negative_slope finite; rounded to FP32 (f64: double).
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision a product in FP32 (f64: double), one rounding to the dtype.
 * @source torch.nn.functional.leaky_relu; Maas et al., ICML 2013.
 * @since 0.1
 */
HTONE_API htone_status htone_leaky_relu(htone_tensor* input, double negative_slope, htone_tensor** out);

/** Applies the exponential linear unit: out = input where that is at least 0, else alpha (e^input - 1). The gradient at
 * 0 is alpha.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] alpha finite; not rounded to the dtype of input.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once.
 * @source torch.nn.functional.elu; Clevert et al., arXiv:1511.07289.
 * @since 0.1
 */
HTONE_API htone_status htone_elu(htone_tensor* input, double alpha, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
