/** @file
 * Operations of a tensor and a number. As in PyTorch the number does not change the dtype of a float tensor: 0.1 beside
 * a bf16 tensor gives bf16. An integer tensor takes whole numbers, and keeps its dtype as beside Python's int.
 */
#ifndef HALFTONE_SCALAR_H
#define HALFTONE_SCALAR_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

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
