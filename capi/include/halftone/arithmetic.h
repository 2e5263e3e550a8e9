/** @file
 * Arithmetic of tensors and numbers, element by element.
 *
 * As in PyTorch a number does not change the dtype of a float tensor: 0.1 beside a bf16 tensor gives bf16. An integer
 * tensor accepts whole numbers, and keeps its dtype as beside Python's int.
 *
 * @code
 * check(htone_mul_scalar(x, 2, &y));
 * check(htone_add(x, y, &y)); // 3 x
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 3 && values[5] == 18);
 * @endcode
 */
#ifndef HALFTONE_ARITHMETIC_H
#define HALFTONE_ARITHMETIC_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds element by element: out = a + b.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision 0.5 ulp. Integers wrap; for two bools the result is "or".
 * @since 0.1
 */
HTONE_API htone_status htone_add(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Subtracts element by element: out = a - b.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool, but not two bools; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision 0.5 ulp. Integers wrap.
 * @since 0.1
 */
HTONE_API htone_status htone_sub(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Multiplies element by element: out = a * b.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision 0.5 ulp. Integers wrap.
 * @since 0.1
 */
HTONE_API htone_status htone_mul(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Divides element by element: out = a / b.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape; promoted dtype, f32 for two integers; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision 0.5 ulp. x / 0 is an infinity or NaN.
 * @since 0.1
 */
HTONE_API htone_status htone_div(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Adds a number to every element: out = input + number.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; in the type that the result is computed in, FP32 or f64. Whole and within 64 bits
 *   where input is an integer or bool.
 * @param[out] out shape and dtype of input, i64 for bool; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision rounded once; integers wrap.
 * @since 0.1
 */
HTONE_API htone_status htone_add_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Subtracts a number from every element: out = input - number.
 *
 * @param[in] input any shape, float or integer; borrowed.
 * @param[in] number any number; in the type that the result is computed in, FP32 or f64. Whole and within 64 bits
 *   where input is an integer.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision rounded once; integers wrap.
 * @since 0.1
 */
HTONE_API htone_status htone_sub_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Multiplies every element by a number: out = input * number.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; in the type that the result is computed in, FP32 or f64. Whole and within 64 bits
 *   where input is an integer or bool.
 * @param[out] out shape and dtype of input, i64 for bool; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision rounded once; integers wrap.
 * @since 0.1
 */
HTONE_API htone_status htone_mul_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Divides every element by a number: out = input / number.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; in the type that the result is computed in, FP32 or f64.
 * @param[out] out shape of input; its dtype where that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision rounded once.
 * @since 0.1
 */
HTONE_API htone_status htone_div_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Scales and shifts: out = input * scale + offset.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] scale,offset finite.
 * @param[out] out dtype of input if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), one rounding after each of the two operations.
 * @since 0.1
 */
HTONE_API htone_status htone_rescale(htone_tensor* input, double scale, double offset, htone_tensor** out);

/** Adds a scaled product, in one pass over memory: out = input + value * a * b.
 *
 * @param[in] input,a,b any shapes that broadcast, float, integer or bool, but not three bools; borrowed.
 * @param[in] value any number; in the type that the result is computed in, FP32 or f64. Whole and within 64 bits where
 *   the result is an integer.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), one rounding after each of the three operations, in the order value * a, * b, + input,
 *   and one to the dtype. Integers wrap.
 * @source torch.addcmul.
 * @since 0.1
 */
HTONE_API htone_status htone_addcmul(htone_tensor* input, htone_tensor* a, htone_tensor* b, double value,
                                     htone_tensor** out);

/** Adds a scaled quotient, in one pass over memory: out = input + value * a / b.
 *
 * @param[in] input,a,b any shapes that broadcast, float, integer or bool, with a float among them; borrowed.
 * @param[in] value any number; in the type that the result is computed in, FP32 or f64.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), one rounding after each of the three operations, in the order value * a, / b, + input,
 *   and one to the dtype.
 * @source torch.addcdiv.
 * @since 0.1
 */
HTONE_API htone_status htone_addcdiv(htone_tensor* input, htone_tensor* a, htone_tensor* b, double value,
                                     htone_tensor** out);

/** Interpolates linearly: out = input + weight * (end - input). A weight of 1 gives end exactly.
 *
 * @param[in] input,end,weight any shapes that broadcast, float, integer or bool, with a float among them; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), one rounding after each operation: from input where |weight| is below 1/2, else from
 *   end.
 * @source torch.lerp.
 * @since 0.1
 */
HTONE_API htone_status htone_lerp(htone_tensor* input, htone_tensor* end, htone_tensor* weight, htone_tensor** out);

/** Interpolates linearly by one number: out = input + weight * (end - input). A weight of 1 gives end exactly.
 *
 * @param[in] input,end any shapes that broadcast, float, integer or bool, with a float among them; borrowed.
 * @param[in] weight finite; in the type that the result is computed in, FP32 or f64.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_lerp.
 * @source torch.lerp.
 * @since 0.1
 */
HTONE_API htone_status htone_lerp_scalar(htone_tensor* input, htone_tensor* end, double weight, htone_tensor** out);

/** Returns the angle of the point (b, a) in radians, with the cases of C99's atan2. The gradients at the origin are 0.
 * A scalar of a wider dtype than the promoted one is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape; promoted dtype, f32 for two integers; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; f64 as libm.
 * @source torch.atan2.
 * @since 0.1
 */
HTONE_API htone_status htone_atan2(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns ln(e^a + e^b), without overflow. A scalar of a wider dtype than the promoted one is rounded to it first, and
 * an integer wraps, as in PyTorch.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape; promoted dtype, f32 for two integers; owned by the caller. The gradients of two
 *   equal infinities are NaN.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; 2 ulp of the larger operand in f64.
 * @source torch.logaddexp.
 * @since 0.1
 */
HTONE_API htone_status htone_logaddexp(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Raises to a power, element by element, with the cases of C99's pow: out = base^exponent.
 * A scalar of a wider dtype than the promoted one is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * @param[in] base,exponent any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out broadcast shape; promoted dtype, f32 for two integers; owned by the caller. If the exponent is 0,
 *   the gradient of the base is 0; if the base is 0 and the exponent is at least 0, the gradient of the exponent is 0.
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
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller. Its gradient is 0 if
 *   the exponent is 0.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision as htone_pow.
 * @since 0.1
 */
HTONE_API htone_status htone_pow_scalar(htone_tensor* input, double exponent, htone_tensor** out);

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

/** Bounds the elements: out = min(max(input, low), high); NaN stays NaN. The gradient at finite bounds is 0.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] low,high bounds, not NaN; -INFINITY and INFINITY for none. If low is above high, all elements become
 *   high.
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
