/** @file
 * Comparisons, logic and choice on tensors. To compare a tensor with a number, make a tensor without dimensions by
 * htone_tensor_create_full.
 *
 * Broadcasting, promotion and dtypes are those of ops.h. All except htone_where return bool and record nothing.
 *
 * @code
 * htone_tensor* large;
 * check(htone_gt_scalar(x, 3, &large));
 * check(htone_tensor_zeros_like(x, &y));
 * check(htone_where(large, x, y, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[2] == 0 && values[3] == 4);
 * @endcode
 */
#ifndef HALFTONE_COMPARE_H
#define HALFTONE_COMPARE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Compares element by element: out = a == b; false if either is NaN.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, in the promoted dtype: an operand that it cannot represent is rounded to it first.
 * @since 0.1
 */
HTONE_API htone_status htone_eq(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Compares element by element: out = a != b; true if either is NaN.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, in the promoted dtype: an operand that it cannot represent is rounded to it first.
 * @since 0.1
 */
HTONE_API htone_status htone_ne(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Compares element by element: out = a < b; false if either is NaN.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, in the promoted dtype: an operand that it cannot represent is rounded to it first.
 * @since 0.1
 */
HTONE_API htone_status htone_lt(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Compares element by element: out = a <= b; false if either is NaN.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, in the promoted dtype: an operand that it cannot represent is rounded to it first.
 * @since 0.1
 */
HTONE_API htone_status htone_le(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Compares element by element: out = a > b; false if either is NaN.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, in the promoted dtype: an operand that it cannot represent is rounded to it first.
 * @since 0.1
 */
HTONE_API htone_status htone_gt(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Compares element by element: out = a >= b; false if either is NaN.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, in the promoted dtype: an operand that it cannot represent is rounded to it first.
 * @since 0.1
 */
HTONE_API htone_status htone_ge(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns true for elements that are both not 0; NaN is not 0.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_logical_and(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns true for elements of which at least one is not 0; NaN is not 0.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_logical_or(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns true for elements of which exactly one is not 0; NaN is not 0.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @source torch.logical_xor.
 * @since 0.1
 */
HTONE_API htone_status htone_logical_xor(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns true for elements that are 0; NaN is not 0.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_logical_not(htone_tensor* input, htone_tensor** out);

/** Returns true for elements that are NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_is_nan(htone_tensor* input, htone_tensor** out);

/** Returns true for elements that are neither infinite nor NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_is_finite(htone_tensor* input, htone_tensor** out);

/** Returns true for elements that are infinite.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @source torch.isinf.
 * @since 0.1
 */
HTONE_API htone_status htone_is_inf(htone_tensor* input, htone_tensor** out);

/** Returns true for elements that are close: |a - b| <= atol + rtol |b|. Equal infinities are close.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[in] rtol,atol at least 0.
 * @param[in] equal_nan not 0: two NaNs are close, too.
 * @param[out] out bool, broadcast shape, without gradient; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision in double, on operands of the promoted dtype: one that it cannot represent is rounded to it first.
 * @source torch.isclose.
 * @since 0.1
 */
HTONE_API htone_status htone_is_close(htone_tensor* a, htone_tensor* b, double rtol, double atol, int32_t equal_nan,
                                      htone_tensor** out);

/** Reports whether htone_is_close is true for all elements, also for none. Waits for the device.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool; borrowed.
 * @param[in] rtol,atol at least 0.
 * @param[in] equal_nan not 0: two NaNs are close, too.
 * @param[out] out_close 1 or 0.
 * @autocast as htone_is_close.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_is_close.
 * @source torch.allclose.
 * @since 0.1
 */
HTONE_API htone_status htone_all_close(htone_tensor* a, htone_tensor* b, double rtol, double atol, int32_t equal_nan,
                                       int32_t* out_close);

/** Chooses element by element: out = a if the condition is true, else b. Elements that are not chosen get a gradient of
 * 0.
 *
 * @param[in] condition bool; borrowed.
 * @param[in] a,b float, integer or bool; the shapes of all three broadcast; borrowed.
 * @param[out] out broadcast shape, promoted dtype of a and b; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact, or one rounding to the promoted dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_where(htone_tensor* condition, htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Compares every element with a number: out = input == number; false where either is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; rounded to the dtype of a float input.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact for floats, and for integers beside a whole number within 64 bits; beside another number in double.
 * @since 0.1
 */
HTONE_API htone_status htone_eq_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Compares every element with a number: out = input != number; true where either is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; rounded to the dtype of a float input.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact for floats, and for integers beside a whole number within 64 bits; beside another number in double.
 * @since 0.1
 */
HTONE_API htone_status htone_ne_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Compares every element with a number: out = input < number; false where either is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; rounded to the dtype of a float input.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact for floats, and for integers beside a whole number within 64 bits; beside another number in double.
 * @since 0.1
 */
HTONE_API htone_status htone_lt_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Compares every element with a number: out = input <= number; false where either is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; rounded to the dtype of a float input.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact for floats, and for integers beside a whole number within 64 bits; beside another number in double.
 * @since 0.1
 */
HTONE_API htone_status htone_le_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Compares every element with a number: out = input > number; false where either is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; rounded to the dtype of a float input.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact for floats, and for integers beside a whole number within 64 bits; beside another number in double.
 * @since 0.1
 */
HTONE_API htone_status htone_gt_scalar(htone_tensor* input, double number, htone_tensor** out);

/** Compares every element with a number: out = input >= number; false where either is NaN.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] number any number; rounded to the dtype of a float input.
 * @param[out] out bool, shape of input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact for floats, and for integers beside a whole number within 64 bits; beside another number in double.
 * @since 0.1
 */
HTONE_API htone_status htone_ge_scalar(htone_tensor* input, double number, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
