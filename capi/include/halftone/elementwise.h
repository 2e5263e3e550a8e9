/* Elementwise functions of tensors. Each makes a new tensor and, where an input requires a gradient, records itself for
 * backward.
 *
 * The conventions are those of ops.h: "float" is any of f64, f32, f16 and bf16; floats are loaded to FP32 (f64: to
 * double), computed there and rounded once. NaN stays NaN. An ulp is one of FP32 (f64: of double); instruction sets may
 * differ within it, the number of threads and the strides never change a bit.
 */
#ifndef HALFTONE_ELEMENTWISE_H
#define HALFTONE_ELEMENTWISE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Answers e^input: exp(-inf) is 0, exp(inf) is inf.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 1.1 ulp in FP32, one rounding to the dtype; f64 as libm.
 * Since: 0.1
 */
HTONE_API htone_status htone_exp(htone_tensor* input, htone_tensor** out);

/* Answers the natural logarithm: log(0) is -inf, below 0 it is NaN.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 1 ulp in FP32, one rounding to the dtype; f64 as libm.
 * Since: 0.1
 */
HTONE_API htone_status htone_log(htone_tensor* input, htone_tensor** out);

/* Answers the square root; below 0 it is NaN. The gradient at 0 is inf.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 0.5 ulp.
 * Since: 0.1
 */
HTONE_API htone_status htone_sqrt(htone_tensor* input, htone_tensor** out);

/* Answers 1 / sqrt(input): inf at 0 (-inf at -0), NaN below.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 1.5 ulp in FP32, one rounding to the dtype.
 * Since: 0.1
 */
HTONE_API htone_status htone_rsqrt(htone_tensor* input, htone_tensor** out);

/* Answers 1 / input.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 0.5 ulp.
 * Since: 0.1
 */
HTONE_API htone_status htone_reciprocal(htone_tensor* input, htone_tensor** out);

/* Answers the absolute value. The gradient at 0 is 0.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: as input; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact. The smallest signed integer wraps to itself.
 * Since: 0.1
 */
HTONE_API htone_status htone_abs(htone_tensor* input, htone_tensor** out);

/* Turns the sign.
 *
 * [in] input: any shape, float or integer; borrowed.
 * [out] out: as input; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact. Integers wrap.
 * Since: 0.1
 */
HTONE_API htone_status htone_neg(htone_tensor* input, htone_tensor** out);

/* Answers the sine of input in radians; NaN at the infinities.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 0.6 ulp in FP32 at arguments of any size, one rounding to the dtype; f64 as libm.
 * Since: 0.1
 */
HTONE_API htone_status htone_sin(htone_tensor* input, htone_tensor** out);

/* Answers the cosine of input in radians; NaN at the infinities.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 0.6 ulp in FP32 at arguments of any size, one rounding to the dtype; f64 as libm.
 * Since: 0.1
 */
HTONE_API htone_status htone_cos(htone_tensor* input, htone_tensor** out);

/* Answers the logistic function 1 / (1 + e^-input), without overflow.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 2.5 ulp in FP32, one rounding to the dtype.
 * Since: 0.1
 */
HTONE_API htone_status htone_sigmoid(htone_tensor* input, htone_tensor** out);

/* Answers the hyperbolic tangent.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 2 ulp in FP32, one rounding to the dtype; 1 ulp in f64.
 * Since: 0.1
 */
HTONE_API htone_status htone_tanh(htone_tensor* input, htone_tensor** out);

/* Applies the sigmoid linear unit: out = input sigmoid(input); NaN at -inf.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 2.5 ulp in FP32, one rounding to the dtype; 3 ulp in f64.
 * Source: Hendrycks and Gimpel, arXiv:1606.08415.
 * Since: 0.1
 */
HTONE_API htone_status htone_silu(htone_tensor* input, htone_tensor** out);

/* Answers ln(1 + e^input), without overflow.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: 2 ulp in FP32, one rounding to the dtype.
 * Since: 0.1
 */
HTONE_API htone_status htone_softplus(htone_tensor* input, htone_tensor** out);

/* Takes the larger of two elements; NaN where either is NaN. At ties each side gets half of the gradient.
 * A scalar of a wider dtype than the result's is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * [in] a, b: any shapes that broadcast, float, integer or bool; borrowed.
 * [out] out: broadcast shape, promoted dtype; owned by the caller.
 * Autocast: widest.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * Precision: exact.
 * Since: 0.1
 */
HTONE_API htone_status htone_maximum(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/* Takes the smaller of two elements; NaN where either is NaN. At ties each side gets half of the gradient.
 * A scalar of a wider dtype than the result's is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * [in] a, b: any shapes that broadcast, float, integer or bool; borrowed.
 * [out] out: broadcast shape, promoted dtype; owned by the caller.
 * Autocast: widest.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * Precision: exact.
 * Since: 0.1
 */
HTONE_API htone_status htone_minimum(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/* Raises to a power, element by element, with the cases of C99's pow: out = base^exponent.
 * A scalar of a wider dtype than the promoted one is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * [in] base, exponent: any shapes that broadcast, float, integer or bool; borrowed.
 * [out] out: broadcast shape; promoted dtype, f32 for two integers; owned by the caller. Where the exponent is 0 the
 *   gradient of the base is 0; where the base is 0 and the exponent not below, that of the exponent is 0.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * Precision: 0.6 ulp in FP32, one rounding to the dtype; f64 as libm.
 * Since: 0.1
 */
HTONE_API htone_status htone_pow(htone_tensor* base, htone_tensor* exponent, htone_tensor** out);

/* Raises to one power, with the cases of C99's pow: out = input^exponent.
 *
 * [in] input: any shape, float, integer or bool; borrowed.
 * [in] exponent: finite; not rounded to the dtype of input. 2 is computed as a product.
 * [out] out: shape of input; its dtype where that is a float, else f32; owned by the caller. Its gradient is 0
 *   where the exponent is 0.
 * Autocast: FP32.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: as htone_pow.
 * Since: 0.1
 */
HTONE_API htone_status htone_pow_scalar(htone_tensor* input, double exponent, htone_tensor** out);

/* Bounds the elements: out = min(max(input, low), high); NaN stays NaN. The gradient at finite bounds is 0.
 *
 * [in] input: any shape, float; borrowed.
 * [in] low, high: bounds, not NaN; -INFINITY and INFINITY for none. Where low is above
 *   high all become high.
 * [out] out: as input; owned by the caller.
 * Autocast: as is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * Precision: exact, the bounds rounded to FP32 (f64: double).
 * Since: 0.1
 */
HTONE_API htone_status htone_clamp(htone_tensor* input, double low, double high, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
