/** @file
 * 8-bit floats with one scale for each tensor. A stored number times the scale is the value: value = stored * scale.
 * Scales are tensors of one f32 on the device, and no function here waits for one.
 *
 * Current scaling chooses the scale from the tensor itself, which reads it twice:
 * @code
 * htone_tensor *amax, *scale, *stored;
 * check(htone_abs_max(x, &amax));
 * check(htone_quantize_scale(amax, HTONE_F8E4M3, &scale));
 * check(htone_quantize(x, scale, HTONE_F8E4M3, NULL, &stored));
 * check(htone_tensor_item(amax, &number));
 * assert(number == 6); // x holds 1 to 6
 * @endcode
 * Delayed scaling chooses it from the largest magnitudes of the steps before, of which each call notes one:
 * @code
 * const int64_t steps = 16;
 * htone_tensor *history, *newest;
 * check(htone_tensor_create_zeros(device, HTONE_F32, 1, &steps, &history));
 * check(htone_quantize_scale(history, HTONE_F8E4M3, &scale)); // 1 as long as nothing is noted
 * check(htone_slice(history, 0, 3, 4, 1, &newest)); // in step 3
 * check(htone_quantize(x, scale, HTONE_F8E4M3, newest, &stored));
 * check(htone_tensor_item(newest, &number));
 * assert(number == 6);
 * @endcode
 * Either way htone_scaled_matmul(stored, weight, scale, weight_scale, ...) multiplies. Forward passes use f8e4m3 and
 * gradients f8e5m2, which reaches further.
 */
#ifndef HALFTONE_FP8_H
#define HALFTONE_FP8_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the largest magnitude of all elements, from which a scale is chosen. Nothing is recorded.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[out] out [], f32; NaN if an element is NaN, 0 of no elements; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; of f64 rounded to f32.
 * @since 0.1
 */
HTONE_API htone_status htone_abs_max(htone_tensor* input, htone_tensor** out);

/** Chooses the scale that maps magnitudes up to the largest of amax to the whole range of an 8-bit float: the largest
 * finite element divided by 448 (f8e4m3) or 57344 (f8e5m2). Infinities and NaN are left out, so that one step that
 * overflowed does not spoil a history. Nothing is recorded.
 *
 * @param[in] amax any shape, f32: one largest magnitude, or those of several steps; borrowed.
 * @param[in] dtype HTONE_F8E4M3 or HTONE_F8E5M2.
 * @param[out] out [], f32; 1 if amax has no finite element but 0; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision FP32, one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_quantize_scale(htone_tensor* amax, htone_dtype dtype, htone_tensor** out);

/** Converts to 8-bit floats: out = input / scale, and where that is beyond the largest finite number, that number with
 * its sign. NaN stays. Nothing is recorded.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] scale one f32, above 0; it is read on the device and not checked. Borrowed.
 * @param[in] dtype HTONE_F8E4M3 or HTONE_F8E5M2.
 * @param[in] amax optional; one f32, such as an element of a history, apart from scale; gets what htone_abs_max returns
 *   for input. Borrowed.
 * @param[out] out shape of input, dtype; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (amax is a result that
 *   backward needs, or is read-only), OUT_OF_MEMORY.
 * @precision f64 is rounded to FP32 first; divided in FP32, then rounded to nearest even.
 * @source Micikevicius et al., arXiv:2209.05433.
 * @since 0.1
 */
HTONE_API htone_status htone_quantize(htone_tensor* input, htone_tensor* scale, htone_dtype dtype, htone_tensor* amax,
                                      htone_tensor** out);

/** Multiplies two matrices of 8-bit floats: out = (a scale_a) (b scale_b) + bias, divided by scale_out. A result of 8
 * bits saturates at the largest finite number. Nothing is recorded: a layer chooses the dtypes of its gradients, and
 * htone_function_record records it. A GPU of compute capability 8.9 or later multiplies in 8 bits if n and k are
 * multiples of 16 and a or b is f8e4m3; it is fastest if neighbours along k are neighbours in memory in both, as in x
 * and the transposed weight of a linear layer. All other products are computed from operands widened to bf16, which
 * holds them exactly.
 *
 * @param[in] a [m, k], f8e4m3 or f8e5m2; borrowed.
 * @param[in] b [k, n], f8e4m3 or f8e5m2; borrowed.
 * @param[in] scale_a one f32: what the elements of a are multiplied by; borrowed.
 * @param[in] scale_b one f32, for b; borrowed.
 * @param[in] dtype of the result: HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3 or HTONE_F8E5M2.
 * @param[in] bias optional; [n], f32, f16 or bf16; borrowed.
 * @param[in] scale_out optional; one f32, above 0, the scale of a result of 8 bits; borrowed.
 * @param[in] amax optional; one f32, apart from the scales; gets the largest magnitude of the result before scale_out
 *   and before rounding. NaN if an element is NaN; a GPU may skip it in a result of 8 bits. Borrowed.
 * @param[out] out [m, n], dtype; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (amax is a result that
 *   backward needs, or is read-only), OUT_OF_MEMORY.
 * @precision products and sums in FP32, scales and bias in FP32, one rounding. GPUs add products of 8 bits in their own
 *   format within an instruction and in FP32 between them; cuBLASLt's fast accumulation is off.
 * @source torch._scaled_mm, whose scale_result multiplies where scale_out divides.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_matmul(htone_tensor* a, htone_tensor* b, htone_tensor* scale_a,
                                           htone_tensor* scale_b, htone_dtype dtype, htone_tensor* bias,
                                           htone_tensor* scale_out, htone_tensor* amax, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
