/** @file
 * Normalisation layers. Weights begin as 1 and biases as 0; parameters and buffers have PyTorch's names.
 *
 * @code
 * const int64_t features = 3;
 * htone_module* norm;
 * check(htone_module_create_layer_norm(device, 1, &features, NULL, &norm));
 * check(htone_module_forward(norm, x, NULL, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[1] == 0 && values[0] == -values[2]);
 * @endcode
 */
#ifndef HALFTONE_NORM_MODULES_H
#define HALFTONE_NORM_MODULES_H

#include "halftone/nn.h"
#include "halftone/norm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of layer, RMS, group and instance normalisation. */
typedef struct htone_norm_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t affine;       /**< not 0: with a weight, and with a bias if the layer has one; default 1 */
  int32_t bias;         /**< not 0: with a bias beside the weight; default 1; RMS normalisation has none */
  htone_dtype dtype;    /**< of weight and bias: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  double epsilon;       /**< at least 0; default 1e-5 */
} htone_norm_options;

/** The defaults, to initialize a htone_norm_options where it is declared. */
#define HTONE_NORM_OPTIONS_INIT \
  { sizeof(htone_norm_options), 1, 1, HTONE_F32, 1e-5 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_norm_options_init(htone_norm_options* options);

/** Makes a layer that applies htone_layer_norm.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] ndim number of the last dimensions, at least 1.
 * @param[in] normalized_shape [ndim] their sizes.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" and "bias" of normalized_shape; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_layer_norm(htone_device* device, int32_t ndim,
                                                      const int64_t* normalized_shape,
                                                      const htone_norm_options* options, htone_module** out);

/** Makes a layer that applies htone_rms_norm.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] ndim number of the last dimensions, at least 1.
 * @param[in] normalized_shape [ndim] their sizes.
 * @param[in] options optional; NULL means the defaults. PyTorch's default epsilon is the machine epsilon of the
 *   input's dtype.
 * @param[out] out with the parameter "weight" of normalized_shape; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_rms_norm(htone_device* device, int32_t ndim, const int64_t* normalized_shape,
                                                    const htone_norm_options* options, htone_module** out);

/** Makes a layer that applies htone_group_norm.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] groups divides channels.
 * @param[in] channels of the input; at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [channels] and "bias" [channels]; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_group_norm(htone_device* device, int64_t groups, int64_t channels,
                                                      const htone_norm_options* options, htone_module** out);

/** Makes a layer that applies htone_instance_norm.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] channels of the input; at least 1.
 * @param[in] options optional; NULL means the defaults. Unlike in PyTorch these give the layer weight and bias.
 * @param[out] out with parameters "weight" [channels] and "bias" [channels]; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_instance_norm(htone_device* device, int64_t channels,
                                                         const htone_norm_options* options, htone_module** out);

/** Settings of batch normalisation layers. */
typedef struct htone_batch_norm_options {
  uint32_t struct_size;        /**< sizeof of this structure */
  int32_t affine;              /**< not 0: with weight and bias; default 1 */
  int32_t track_running_stats; /**< not 0: keeps running statistics for evaluation; default 1 */
  int32_t cumulative;          /**< not 0: they are means over all batches (PyTorch's momentum None); default 0 */
  double epsilon;              /**< at least 0; default 1e-5 */
  double momentum;             /**< weight of a batch in the running statistics, in [0, 1]; default 0.1 */
  htone_dtype dtype;           /**< of weight and bias: HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  uint32_t reserved;           /**< 0 */
} htone_batch_norm_options;

/** The defaults, to initialize a htone_batch_norm_options where it is declared. */
#define HTONE_BATCH_NORM_OPTIONS_INIT \
  { sizeof(htone_batch_norm_options), 1, 1, 0, 1e-5, 0.1, HTONE_F32, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_batch_norm_options_init(htone_batch_norm_options* options);

/** Makes a layer that applies htone_batch_norm to [n, channels] and [n, channels, length]: in training mode with the
 * batch's statistics, which it then adds to the running ones; in evaluation mode with those. The running ones change
 * when the call of forward has succeeded; in a callback, when the outermost call has succeeded.
 *
 * @param[in] device of the parameters and buffers; borrowed.
 * @param[in] channels of the input; at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [channels] and "bias" [channels], and buffers "running_mean" [channels],
 *   "running_var" [channels] (f32; f64 if dtype is f64) and "num_batches_tracked" (i64 scalar); owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_batch_norm1d(htone_device* device, int64_t channels,
                                                        const htone_batch_norm_options* options, htone_module** out);

/** Makes a layer like that of htone_module_create_batch_norm1d, for [n, channels, height, width].
 *
 * @param[in] device of the parameters and buffers; borrowed.
 * @param[in] channels of the input; at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with the same parameters and buffers; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_batch_norm2d(htone_device* device, int64_t channels,
                                                        const htone_batch_norm_options* options, htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
