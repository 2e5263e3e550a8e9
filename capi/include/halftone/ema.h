/** @file
 * Exponential moving averages of weights, for evaluation with weights that vary less than those that train. Averages
 * that are made from a module include the running statistics of batch norm, so the averaged weights need no pass over
 * the data that recomputes them (torch.optim.swa_utils.update_bn). Averages of a parameter set do not: after a swap the
 * statistics are still those of the weights that train.
 *
 * Such a pass is possible too: make averages from the module; swap; fill every layer's running_mean, running_var and
 * num_batches_tracked with 0, 1 and 0; run batches in training mode in a no_grad scope. Layers with the option
 * cumulative then have the means over these batches, others those that their momentum weighs. The second swap restores
 * the statistics and counters of training, and the next one brings the recomputed statistics back.
 *
 * @code
 * htone_ema* ema;
 * check(htone_ema_create_from_module(model, NULL, &ema));
 * check(htone_ema_update(ema)); // after every step
 * check(htone_ema_swap(ema));   // the model has the averages
 * check(htone_module_forward(model, x, NULL, &y));
 * check(htone_ema_swap(ema)); // and its own weights again
 * check(htone_tensor_numel(y, &count));
 * assert(count == 4);
 * @endcode
 */
#ifndef HALFTONE_EMA_H
#define HALFTONE_EMA_H

#include "halftone/nn.h"
#include "halftone/parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Moving averages of a set of parameters. */
typedef struct htone_ema htone_ema;

/** Settings of htone_ema_create. */
typedef struct htone_ema_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t warmup;       /**< not 0: the n-th update decays by (1 + n) / (10 + n) if that is less; default 0 */
  double decay;         /**< default 0.999; in [0, 1) */
} htone_ema_options;

/** The defaults, to initialize an htone_ema_options where it is declared. */
#define HTONE_EMA_OPTIONS_INIT \
  { sizeof(htone_ema_options), 0, 0.999 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_ema_options_init(htone_ema_options* options);

/** Makes averages that begin as the weights. They are FP32 for every storage of the weights.
 *
 * @param[in] parameters in f32, f16 or bf16, of an optimizer or none; retained. The set may change afterwards. Buffers
 *   are not averaged: use htone_ema_create_from_module for a module with batch norm.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the averages, in the set's order; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameters), DTYPE_MISMATCH, DEVICE (they are on several),
 *   UNSUPPORTED (the state is offloaded, see fsdp.h), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_create(htone_parameters* parameters, const htone_ema_options* options,
                                        htone_ema** out);

/** Makes averages of all parameters of a module and of its floating-point buffers, such as running statistics. A swap
 * exchanges both; buffers of integers, such as batch counters, have no average, and the second swap restores their
 * values at the first. htone_ema_count and htone_ema_read are about the parameters alone. A checkpoint saves the
 * averages of buffers too, and one that lacks them does not load.
 *
 * @param[in] module borrowed; its parameters are in f32, f16 or bf16, its floating-point buffers contiguous and in f32.
 *   Its parameters and buffers are retained; those that are added or replaced afterwards are not averaged.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the averages, in the order of the module's parameters; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameters), DTYPE_MISMATCH, DEVICE (they are on several),
 *   UNSUPPORTED (the state is offloaded, or a buffer is not contiguous, read-only or over the memory of a parameter or
 *   another buffer), OUT_OF_MEMORY.
 * @source torch.optim.swa_utils.AveragedModel with use_buffers=True.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_create_from_module(htone_module* module, const htone_ema_options* options,
                                                    htone_ema** out);

/** Adds a reference.
 *
 * @param[in] ema averages.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_retain(htone_ema* ema);

/** Releases a reference. If averages are swapped with the weights, they stay so.
 *
 * @param[in] ema optional; averages.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_ema_release(htone_ema* ema);

/** Moves every average towards its weight: average = decay * average + (1 - decay) * weight. Call it after each step,
 * and not after a step that was skipped (htone_optimizer_outcome). It allocates no memory.
 *
 * @param[in] ema borrowed.
 * @errors INVALID_HANDLE, STATE (weights and averages are swapped, or a parameter was sharded after its average was
 *   made).
 * @precision FP32.
 * @source the formula of torch.optim.swa_utils.get_ema_multi_avg_fn; the warm-up is TensorFlow's.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_update(htone_ema* ema);

/** Exchanges weights and averages, and buffers and theirs, with the copies for autocast; a second call restores both
 * exactly. Weights in 16 bits without a master become the rounded averages, and are saved meanwhile: 2 bytes a
 * parameter. A step in between would train the averages, and an optimizer that is made in between and keeps weights
 * only in 16 bits rounds them. Every rank that shares the weights (fsdp.h) calls it.
 *
 * @param[in] ema borrowed.
 * @errors INVALID_HANDLE, STATE (a parameter was sharded after its average was made), OUT_OF_MEMORY (nothing has
 *   changed), COMM, PEER_LOST, TIMEOUT.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_swap(htone_ema* ema);

/** Returns the number of averages.
 *
 * @param[in] ema borrowed.
 * @param[out] out_count the number of parameters that were in the set.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_count(htone_ema* ema, size_t* out_count);

/** Returns one average.
 *
 * @param[in] ema borrowed.
 * @param[in] index below the count.
 * @param[out] out a copy in f32, of the parameter's shape; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (weights and averages are swapped), UNSUPPORTED (ranks share the
 *   parameter: swap, and read the weights within htone_fsdp_gather_begin), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_ema_read(htone_ema* ema, size_t index, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
