/** @file
 * Operations on tensors. Each makes a new tensor and, if an input requires a gradient, records itself for backward.
 *
 * Inputs of one call must be on one device of one context, else the call returns HTONE_ERROR_DEVICE. "float" is any of
 * f64, f32, f16 and bf16; 8-bit floats are for storage: operations that compute return DTYPE_MISMATCH for them, so cast
 * them first. Floats are loaded to FP32 (f64: to double), computed there and rounded once to the result's dtype. Shapes
 * broadcast as in NumPy.
 */
#ifndef HALFTONE_OPS_H
#define HALFTONE_OPS_H

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

/** Multiplies matrices: out = a b; further leading dimensions are batches that broadcast.
 *
 * @param[in] a [..., m, k], float; borrowed.
 * @param[in] b [..., k, n], dtype of a; borrowed.
 * @param[out] out [..., m, n], dtype of a; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision products and sums in FP32 (f64: double), one rounding; error at most k eps times the sum of |a| |b|. bf16
 *   may take subnormal elements and sums as zero: 2 k 2^-126 max(1, |a|, |b|) more.
 * @since 0.1
 */
HTONE_API htone_status htone_matmul(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Applies a linear layer: out = input weight^T + bias.
 *
 * @param[in] input [..., in], float; borrowed.
 * @param[in] weight [out, in], dtype of input; borrowed.
 * @param[in] bias optional; [out], dtype of input; borrowed.
 * @param[out] out [..., out], dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_matmul; the bias is added before the one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias, htone_tensor** out);

/** Sums over dimensions.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the summed dimensions with size 1.
 * @param[out] out dtype of input for floats, i64 for integers and bool; owned by the caller. An empty sum is 0.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision pairwise in FP32 (f64: double), one rounding; integers in 64 bits, wrapping.
 * @since 0.1
 */
HTONE_API htone_status htone_sum(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                 htone_tensor** out);

/** Averages over dimensions.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional if dim_count is 0.
 * @param[in] keepdim not 0 keeps the averaged dimensions with size 1.
 * @param[out] out dtype of input; owned by the caller. An empty mean is NaN.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision as htone_sum, one more rounding for the division.
 * @since 0.1
 */
HTONE_API htone_status htone_mean(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/** Rectifies: out = max(input, 0); NaN stays NaN, the gradient at 0 is 0.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_relu(htone_tensor* input, htone_tensor** out);

/** The two formulas of htone_gelu. */
typedef enum htone_gelu_form {
  HTONE_GELU_ERF = 0,                   /**< x Phi(x), by the error function */
  HTONE_GELU_TANH = 1,                  /**< its approximation by the hyperbolic tangent */
  HTONE_GELU_FORM_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_gelu_form;

/** Applies the Gaussian error linear unit: x Phi(x), or its tanh form.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] form HTONE_GELU_ERF or HTONE_GELU_TANH.
 * @param[out] out as input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision absolute error at most 2.4e-7 |x| before rounding; 3 ulp of FP32 for the erf form if |x| is at most 0.7.
 *   Below -1 the result is small beside x, so its relative error grows.
 * @source Hendrycks and Gimpel, arXiv:1606.08415.
 * @since 0.1
 */
HTONE_API htone_status htone_gelu(htone_tensor* input, htone_gelu_form form, htone_tensor** out);

/** Normalises exponentials along a dimension: out = exp(x) / sum exp(x). A row with only -inf becomes NaN.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out as input; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision FP32 (f64: double) after subtracting the largest entry.
 * @since 0.1
 */
HTONE_API htone_status htone_softmax(htone_tensor* input, int64_t dim, htone_tensor** out);

/** Returns the logarithm of htone_softmax, without forming it.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out as input; owned by the caller.
 * @autocast FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision by log-sum-exp in FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_log_softmax(htone_tensor* input, int64_t dim, htone_tensor** out);

/** Returns the mean cross entropy between logits and classes: htone_cross_entropy_with of loss.h with its defaults.
 *
 * @param[in] logits [n, c, ...] or [c], float; borrowed.
 * @param[in] targets shape of logits without c, i64, each in [0, c), or -100 for a row that is left out; or shape of
 *   logits, float: probabilities of the classes; borrowed.
 * @param[out] out an f32 scalar, f64 for f64 logits; owned by the caller. NaN if no row counts.
 * @autocast FP32; 16-bit logits are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (a target outside [0, c), found before anything is written),
 *   SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision by log-sum-exp in FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_cross_entropy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out);

/** Returns the share of rows whose largest logit is at the target. Never records for backward.
 *
 * @param[in] logits [n, c], float; borrowed.
 * @param[in] targets [n], i64, each in [0, c); borrowed.
 * @param[out] out scalar f32 in [0, 1]; owned by the caller. NaN if n is 0.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact count; one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_accuracy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out);

/** Changes the shape; shares storage if the strides allow it, else copies.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes with the same product; one may be -1; optional if ndim is 0.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_reshape(htone_tensor* input, int32_t ndim, const int64_t* shape, htone_tensor** out);

/** Swaps two dimensions; shares storage.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dim0,dim1 dimensions, negative from the end.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_transpose(htone_tensor* input, int64_t dim0, int64_t dim1, htone_tensor** out);

/** Takes every step-th index of [start, end) of one dimension; shares storage.
 *
 * @param[in] input at least one dimension, any dtype; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] start,end indices, negative from the end, clamped to the size; the result is empty if end is at or before
 *   start.
 * @param[in] step at least 1.
 * @param[out] out a view of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_slice(htone_tensor* input, int64_t dim, int64_t start, int64_t end, int64_t step,
                                   htone_tensor** out);

/** Converts the elements to another dtype. Gradients flow between floats.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dtype of the result.
 * @param[out] out shape of input; owned by the caller. It is the input itself if that has this dtype.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision round to nearest even, subnormals and NaN kept. f8e4m3 saturates at 448. Float to integer truncates and
 *   saturates; NaN becomes 0. To bool: is not zero.
 * @since 0.1
 */
HTONE_API htone_status htone_cast(htone_tensor* input, htone_dtype dtype, htone_tensor** out);

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

#ifdef __cplusplus
}
#endif

#endif
