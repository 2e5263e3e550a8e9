/** @file
 * Whole quotients, remainders and bits of tensors. What ops.h says of operations is true here. A scalar of a
 * wider dtype than the promoted one is rounded to it first, and an integer wraps, as in PyTorch.
 *
 * An integer divided by 0 has no value: the call returns INVALID_ARGUMENT, or the next wait for a device that finds the
 * divisor later.
 *
 * @code
 * htone_tensor* two;
 * check(htone_tensor_create_full(device, HTONE_F32, 0, NULL, 2, &two));
 * check(htone_floor_divide(x, two, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 0 && values[4] == 2);
 * @endcode
 */
#ifndef HALFTONE_INTEGERS_H
#define HALFTONE_INTEGERS_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the remainder of a quotient that is rounded towards 0: out = a - b trunc(a / b), with the sign of a. NaN
 * where a is infinite or b is 0.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool, but not two bools; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact for floats of the result's dtype, and for integers.
 * @source torch.fmod.
 * @since 0.1
 */
HTONE_API htone_status htone_fmod(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Returns the remainder of a quotient that is rounded down: out = a - b floor(a / b), with the sign of b. NaN where a
 * is infinite or b is 0.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool, but not two bools; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision 0.5 ulp; exact for integers.
 * @source torch.remainder, as Python's %.
 * @since 0.1
 */
HTONE_API htone_status htone_remainder(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Divides and rounds down: out = floor(a / b). A float divided by 0 is an infinity or NaN. The gradients are 0.
 *
 * @param[in] a,b any shapes that broadcast, float, integer or bool, but not two bools; borrowed.
 * @param[out] out broadcast shape, promoted dtype; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision from the remainder, so that no rounding of a / b moves it to another whole number; rounded once to the
 *   dtype. The quotient of the lowest integer and -1 wraps.
 * @source torch.floor_divide, as Python's //.
 * @since 0.1
 */
HTONE_API htone_status htone_floor_divide(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Sets the bits that are 1 in both; of bools the result is "and".
 *
 * @param[in] a,b any shapes that broadcast, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @source torch.bitwise_and.
 * @since 0.1
 */
HTONE_API htone_status htone_bitwise_and(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Sets the bits that are 1 in either; of bools the result is "or".
 *
 * @param[in] a,b any shapes that broadcast, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @source torch.bitwise_or.
 * @since 0.1
 */
HTONE_API htone_status htone_bitwise_or(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Sets the bits that are 1 in exactly one; of bools the result is "exclusive or".
 *
 * @param[in] a,b any shapes that broadcast, integer or bool; borrowed.
 * @param[out] out broadcast shape, promoted dtype, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @source torch.bitwise_xor.
 * @since 0.1
 */
HTONE_API htone_status htone_bitwise_xor(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Changes every bit; of bools the result is "not".
 *
 * @param[in] input any shape, integer or bool; borrowed.
 * @param[out] out as input, without gradient; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @source torch.bitwise_not.
 * @since 0.1
 */
HTONE_API htone_status htone_bitwise_not(htone_tensor* input, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
