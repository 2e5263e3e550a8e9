/** @file
 * Normalisation operations: layer, RMS, group and batch normalisation. Statistics are computed in FP32 (f64: double),
 * by two passes, for every dtype of the input. Their layers are in norm_modules.h.
 *
 * @code
 * const int64_t features = 3;
 * check(htone_layer_norm(x, 1, &features, NULL, NULL, 0, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[1] == 0 && values[0] == -values[2]);
 * @endcode
 */
#ifndef HALFTONE_NORM_H
#define HALFTONE_NORM_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Normalises over the last dimensions: out = (input - mean) / sqrt(variance + epsilon) * weight + bias.
 *
 * @param[in] input its shape ends in normalized_shape, float; borrowed.
 * @param[in] ndim number of the last dimensions, at least 1.
 * @param[in] normalized_shape [ndim] their sizes.
 * @param[in] weight optional; of normalized_shape, any float; borrowed.
 * @param[in] bias optional; of normalized_shape, any float; borrowed.
 * @param[in] epsilon at least 0. A constant row gives bias if it is above 0, NaN if it is 0.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast FP32; 16-bit inputs are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), one rounding; the mean is subtracted in two parts, so that rows far from 0 lose no
 *   precision. Rows of any finite elements keep it, forward and backward: if squares leave the range, the moments are
 *   summed again in double (f64: scaled). The gradients of weight and bias are summed in a fixed order.
 * @source Ba, Kiros and Hinton, arXiv:1607.06450.
 * @since 0.1
 */
HTONE_API htone_status htone_layer_norm(htone_tensor* input, int32_t ndim, const int64_t* normalized_shape,
                                        htone_tensor* weight, htone_tensor* bias, double epsilon, htone_tensor** out);

/** Normalises by the root mean square over the last dimensions: out = input / sqrt(mean(input^2) + epsilon) * weight.
 *
 * @param[in] input its shape ends in normalized_shape, float; borrowed.
 * @param[in] ndim number of the last dimensions, at least 1.
 * @param[in] normalized_shape [ndim] their sizes.
 * @param[in] weight optional; of normalized_shape, any float; borrowed.
 * @param[in] epsilon at least 0. A row of zeros gives zeros if it is above 0, NaN if it is 0.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast FP32; 16-bit inputs are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), one rounding; rows of any finite elements keep it, as in htone_layer_norm.
 * @source Zhang and Sennrich, arXiv:1910.07467.
 * @since 0.1
 */
HTONE_API htone_status htone_rms_norm(htone_tensor* input, int32_t ndim, const int64_t* normalized_shape,
                                      htone_tensor* weight, double epsilon, htone_tensor** out);

/** Adds a residual and normalises the sum, in one pass over memory: out_sum = input + residual and
 * out = layer_norm(out_sum), with the bits of htone_add and htone_layer_norm.
 *
 * @param[in] input its shape ends in normalized_shape, float; borrowed.
 * @param[in] residual shape of input, any float; borrowed.
 * @param[in] ndim number of the last dimensions, at least 1.
 * @param[in] normalized_shape [ndim] their sizes.
 * @param[in] weight optional; of normalized_shape, any float; borrowed.
 * @param[in] bias optional; of normalized_shape, any float; borrowed.
 * @param[in] epsilon as in htone_layer_norm.
 * @param[out] out_sum shape of input, the wider dtype of input and residual; owned by the caller.
 * @param[out] out shape and dtype of out_sum; owned by the caller.
 * @autocast out_sum as htone_add, out as htone_layer_norm.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_layer_norm, of the sum rounded to its dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_add_layer_norm(htone_tensor* input, htone_tensor* residual, int32_t ndim,
                                            const int64_t* normalized_shape, htone_tensor* weight, htone_tensor* bias,
                                            double epsilon, htone_tensor** out_sum, htone_tensor** out);

/** Adds a residual and normalises the sum by its root mean square, in one pass over memory: out_sum = input + residual
 * and out = rms_norm(out_sum), with the bits of htone_add and htone_rms_norm.
 *
 * @param[in] input its shape ends in normalized_shape, float; borrowed.
 * @param[in] residual shape of input, any float; borrowed.
 * @param[in] ndim number of the last dimensions, at least 1.
 * @param[in] normalized_shape [ndim] their sizes.
 * @param[in] weight optional; of normalized_shape, any float; borrowed.
 * @param[in] epsilon as in htone_rms_norm.
 * @param[out] out_sum shape of input, the wider dtype of input and residual; owned by the caller.
 * @param[out] out shape and dtype of out_sum; owned by the caller.
 * @autocast out_sum as htone_add, out as htone_rms_norm.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_rms_norm, of the sum rounded to its dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_add_rms_norm(htone_tensor* input, htone_tensor* residual, int32_t ndim,
                                          const int64_t* normalized_shape, htone_tensor* weight, double epsilon,
                                          htone_tensor** out_sum, htone_tensor** out);

/** Normalises groups of channels of each sample: out = (input - mean) / sqrt(variance + epsilon) * weight + bias.
 *
 * @param[in] input [n, channels, ...], float; borrowed.
 * @param[in] groups divides channels.
 * @param[in] weight optional; [channels], any float; borrowed.
 * @param[in] bias optional; [channels], any float; borrowed.
 * @param[in] epsilon at least 0. A constant group gives bias if it is above 0, NaN if it is 0.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast FP32; 16-bit inputs are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_layer_norm.
 * @source Wu and He, arXiv:1803.08494.
 * @since 0.1
 */
HTONE_API htone_status htone_group_norm(htone_tensor* input, int64_t groups, htone_tensor* weight, htone_tensor* bias,
                                        double epsilon, htone_tensor** out);

/** Normalises each channel of each sample to mean 0 and variance 1: out = (input - mean) / sqrt(variance + epsilon) *
 * weight + bias. There are no running statistics: training and evaluation are equal.
 *
 * @param[in] input [n, channels, ...], float; borrowed.
 * @param[in] weight optional; [channels], any float; borrowed.
 * @param[in] bias optional; [channels], any float; borrowed.
 * @param[in] epsilon at least 0. A constant channel, also one of one element, gives bias where it is above 0, NaN
 *   where it is 0.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast FP32; 16-bit inputs are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_layer_norm.
 * @source Ulyanov, Vedaldi and Lempitsky, arXiv:1607.08022.
 * @since 0.1
 */
HTONE_API htone_status htone_instance_norm(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                           double epsilon, htone_tensor** out);

/** Normalises each channel over the batch: out = (input - mean) / sqrt(variance + epsilon) * weight + bias.
 *
 * @param[in] input [n, channels, ...], float; borrowed. In training a channel has more than one element.
 * @param[in] running_mean optional if training is not 0; [channels], f32 or f64; read; written in training. Both
 *   running_mean and running_var must be there, or none.
 * @param[in] running_var optional if training is not 0; as running_mean. It moves towards the unbiased variance.
 * @param[in] weight optional; [channels], any float; borrowed.
 * @param[in] bias optional; [channels], any float; borrowed.
 * @param[in] training not 0: normalise with the batch's own statistics, else with the running ones.
 * @param[in] momentum finite; in training the running statistics become (1 - momentum) old + momentum batch when the
 *   call has succeeded; in a callback, when the outermost call has succeeded.
 * @param[in] epsilon at least 0.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast FP32; 16-bit inputs are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (one element a channel in training too), DTYPE_MISMATCH,
 *   DEVICE, STATE (running statistics that are a recorded result), OUT_OF_MEMORY.
 * @precision as htone_layer_norm. An empty batch does not change the running statistics. A finite batch leaves them
 *   finite: one that would be beyond their dtype becomes its largest number, from which later batches move it away.
 * @source Ioffe and Szegedy, arXiv:1502.03167.
 * @since 0.1
 */
HTONE_API htone_status htone_batch_norm(htone_tensor* input, htone_tensor* running_mean, htone_tensor* running_var,
                                        htone_tensor* weight, htone_tensor* bias, int32_t training, double momentum,
                                        double epsilon, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
