/** @file
 * Elementwise functions of tensors. Each makes a new tensor and, if an input requires a gradient, records itself for
 * backward.
 *
 * The conventions are those of ops.h: "float" is any of f64, f32, f16 and bf16; floats are loaded to FP32 (f64: to
 * double), computed there and rounded once. NaN stays NaN. An ulp is one of FP32 (f64: of double); instruction sets may
 * differ within it; the number of threads and the strides never change the result.
 *
 * @code
 * check(htone_sqrt(x, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 1 && values[3] == 2);
 * @endcode
 */
#ifndef HALFTONE_ELEMENTWISE_H
#define HALFTONE_ELEMENTWISE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns e^input: exp(-inf) is 0, exp(inf) is inf.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 1.1 ulp in FP32, one rounding to the dtype; f64 as libm.
 * @since 0.1
 */
HTONE_API htone_status htone_exp(htone_tensor* input, htone_tensor** out);

/** Returns the natural logarithm: log(0) is -inf, below 0 it is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 1 ulp in FP32, one rounding to the dtype; f64 as libm.
 * @since 0.1
 */
HTONE_API htone_status htone_log(htone_tensor* input, htone_tensor** out);

/** Returns the square root; below 0 it is NaN. The gradient at 0 is inf.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 0.5 ulp.
 * @since 0.1
 */
HTONE_API htone_status htone_sqrt(htone_tensor* input, htone_tensor** out);

/** Returns 1 / sqrt(input): inf at 0 (-inf at -0), NaN below.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 1.5 ulp in FP32, one rounding to the dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_rsqrt(htone_tensor* input, htone_tensor** out);

/** Returns 1 / input.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 0.5 ulp.
 * @since 0.1
 */
HTONE_API htone_status htone_reciprocal(htone_tensor* input, htone_tensor** out);

/** Returns the absolute value. The gradient at 0 is 0.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact. The smallest signed integer wraps to itself.
 * @since 0.1
 */
HTONE_API htone_status htone_abs(htone_tensor* input, htone_tensor** out);

/** Changes the sign.
 *
 * @param[in] input any shape, float or integer; borrowed.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact. Integers wrap.
 * @since 0.1
 */
HTONE_API htone_status htone_neg(htone_tensor* input, htone_tensor** out);

/** Returns the sine of input in radians; NaN at the infinities.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 0.6 ulp in FP32 at arguments of any size, one rounding to the dtype; f64 as libm.
 * @since 0.1
 */
HTONE_API htone_status htone_sin(htone_tensor* input, htone_tensor** out);

/** Returns the cosine of input in radians; NaN at the infinities.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 0.6 ulp in FP32 at arguments of any size, one rounding to the dtype; f64 as libm.
 * @since 0.1
 */
HTONE_API htone_status htone_cos(htone_tensor* input, htone_tensor** out);

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

/** Rounds to a whole number towards 0. The gradient is 0.
 *
 * @param[in] input any shape, float or integer; borrowed.
 * @param[out] out as input; an integer is copied; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.trunc.
 * @since 0.1
 */
HTONE_API htone_status htone_trunc(htone_tensor* input, htone_tensor** out);

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

/** Returns the tangent of input in radians; NaN at the infinities.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.tan.
 * @since 0.1
 */
HTONE_API htone_status htone_tan(htone_tensor* input, htone_tensor** out);

/** Returns the logarithm to base 2: -inf at 0, NaN below. That of a power of 2 is exact.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.log2.
 * @since 0.1
 */
HTONE_API htone_status htone_log2(htone_tensor* input, htone_tensor** out);

/** Returns the logarithm to base 10: -inf at 0, NaN below.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.log10.
 * @since 0.1
 */
HTONE_API htone_status htone_log10(htone_tensor* input, htone_tensor** out);

/** Replaces NaN and the infinities by numbers. The gradient of a replaced element is 0.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] nan replaces NaN; any number.
 * @param[in] posinf,neginf replace inf and -inf; any number, or NAN for the largest and the lowest finite number of the
 *   dtype of input.
 * @param[out] out as input; an integer or bool is copied; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact, the numbers rounded to FP32 (f64: double) and once more to the dtype.
 * @source torch.nan_to_num.
 * @since 0.1
 */
HTONE_API htone_status htone_nan_to_num(htone_tensor* input, double nan, double posinf, double neginf,
                                        htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
