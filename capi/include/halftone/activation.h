/** @file
 * Activations: functions between the layers of a network, and softmax.
 *
 * @code
 * check(htone_sub_scalar(x, 3, &y));
 * check(htone_relu(y, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 0 && values[5] == 3);
 * @endcode
 */
#ifndef HALFTONE_ACTIVATION_H
#define HALFTONE_ACTIVATION_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/** Returns input min(max(input + 3, 0), 6) / 6, a sigmoid linear unit made of straight lines; NaN at -inf.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 2 ulp in FP32, one rounding to the dtype.
 * @source torch.nn.functional.hardswish; Howard et al., arXiv:1905.02244.
 * @since 0.1
 */
HTONE_API htone_status htone_hardswish(htone_tensor* input, htone_tensor** out);

/** Returns input tanh(ln(1 + e^input)), without overflow; NaN at -inf.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once; 4 ulp in f64.
 * @source torch.nn.functional.mish; Misra, arXiv:1908.08681.
 * @since 0.1
 */
HTONE_API htone_status htone_mish(htone_tensor* input, htone_tensor** out);

/** Applies the scaled exponential linear unit: out = s input where that is at least 0, else s a (e^input - 1), where s
 * is 1.0507009873554805 and a is 1.6732632423543772. The gradient at 0 is s a.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision computed in double and rounded once.
 * @source torch.nn.functional.selu; Klambauer et al., arXiv:1706.02515.
 * @since 0.1
 */
HTONE_API htone_status htone_selu(htone_tensor* input, htone_tensor** out);

/** Returns the logarithm of htone_sigmoid, without forming it.
 *
 * @param[in] input any shape, float, integer or bool; borrowed.
 * @param[out] out shape of input; its dtype if that is a float, else f32; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 2 ulp in FP32, one rounding to the dtype.
 * @source torch.nn.functional.logsigmoid.
 * @since 0.1
 */
HTONE_API htone_status htone_log_sigmoid(htone_tensor* input, htone_tensor** out);

/** Applies the rectifier with slopes that are learnt: out = input where that is above 0, else weight * input. The
 * gradient of the weight is summed over what it multiplied.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] weight float, one element, or [c] for an input with c indices in dimension 1; borrowed.
 * @param[out] out shape of input, promoted dtype; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision a product in FP32 (f64: double), one rounding to the dtype.
 * @source torch.nn.functional.prelu; He et al., arXiv:1502.01852.
 * @since 0.1
 */
HTONE_API htone_status htone_prelu(htone_tensor* input, htone_tensor* weight, htone_tensor** out);

/** Applies the gated linear unit: the first half of input along a dimension, times the sigmoid of the second half.
 *
 * @param[in] input float, with an even size in dimension dim; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out as input with half the size in dimension dim; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision 3.5 ulp in FP32, one rounding to the dtype.
 * @source torch.nn.functional.glu; Dauphin et al., arXiv:1612.08083.
 * @since 0.1
 */
HTONE_API htone_status htone_glu(htone_tensor* input, int64_t dim, htone_tensor** out);

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

#ifdef __cplusplus
}
#endif

#endif
