/** @file
 * Elementwise functions of tensors. Each makes a new tensor and, if an input requires a gradient, records itself for
 * backward.
 *
 * The conventions are those of ops.h: "float" is any of f64, f32, f16 and bf16; floats are loaded to FP32 (f64: to
 * double), computed there and rounded once. NaN stays NaN. An ulp is one of FP32 (f64: of double); instruction sets may
 * differ within it; the number of threads and the strides never change the result.
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

/** Returns the logistic function 1 / (1 + e^-input), without overflow.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 2.5 ulp in FP32, one rounding to the dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_sigmoid(htone_tensor* input, htone_tensor** out);

/** Returns the hyperbolic tangent.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 2 ulp in FP32, one rounding to the dtype; 1 ulp in f64.
 * @since 0.1
 */
HTONE_API htone_status htone_tanh(htone_tensor* input, htone_tensor** out);

/** Applies the sigmoid linear unit: out = input sigmoid(input); NaN at -inf.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 2.5 ulp in FP32, one rounding to the dtype; 3 ulp in f64.
 * @source Hendrycks and Gimpel, arXiv:1606.08415.
 * @since 0.1
 */
HTONE_API htone_status htone_silu(htone_tensor* input, htone_tensor** out);

/** Returns ln(1 + e^input), without overflow.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 2 ulp in FP32, one rounding to the dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_softplus(htone_tensor* input, htone_tensor** out);

/** Returns the larger of two elements; NaN if either is NaN. If they are equal, each gets half of the gradient. A
 * scalar of a wider dtype than the result's is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_maximum(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns the smaller of two elements; NaN if either is NaN. If they are equal, each gets half of the gradient. A
 * scalar of a wider dtype than the result's is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_minimum(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Raises to a power, element by element, with the cases of C99's pow: out = base^exponent.
 * A scalar of a wider dtype than the promoted one is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * @param[in] base,exponent any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape; promoted dtype, f32 for two integers; owned by the caller. If the exponent is 0, the
 *   gradient of the base is 0; if the base is 0 and the exponent is at least 0, the gradient of the exponent is 0.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision 0.6 ulp in FP32, one rounding to the dtype; f64 as libm.
 * @since 0.1
 */
HTONE_API htone_status htone_pow(htone_tensor* base, htone_tensor* exponent, htone_tensor** out);

/** Raises to one power, with the cases of C99's pow: out = input^exponent.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] exponent finite; not rounded to the dtype of input. 2 is computed as a product.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller. Its gradient is 0 if the
 *   exponent is 0.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision as htone_pow.
 * @since 0.1
 */
HTONE_API htone_status htone_pow_scalar(htone_tensor* input, double exponent, htone_tensor** out);

/** Bounds the elements: out = min(max(input, low), high); NaN stays NaN. The gradient at finite bounds is 0.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] low,high bounds, not NaN; -INFINITY and INFINITY for none. If low is above high, all elements become high.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact, the bounds rounded to FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_clamp(htone_tensor* input, double low, double high, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
