/* Exponential moving averages of weights, for evaluation with weights that jump less than those that train. */
#ifndef HALFTONE_EMA_H
#define HALFTONE_EMA_H

#include "halftone/parameters.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_ema htone_ema;

typedef struct htone_ema_options {
  uint32_t struct_size;
  int32_t warmup; /* not 0: the n-th update decays by (1 + n) / (10 + n) where that is less; default 0 */
  double decay;   /* default 0.999; in [0, 1) */
} htone_ema_options;

/* Fills options with the defaults.
 *
 * [out] options: caller's memory.
 * Errors: INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_options_init(htone_ema_options* options);

/* Makes averages that begin as the weights, in FP32 whatever those are kept in.
 *
 * [in] parameters: in f32, f16 or bf16, of an optimizer or none; retained. The set may change afterwards.
 * [in] options: optional; NULL means the defaults.
 * [out] out: the averages, in the set's order; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameters), DTYPE_MISMATCH, DEVICE (they are on several),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_create(htone_parameters* parameters, const htone_ema_options* options,
                                        htone_ema** out);

/* Adds a reference.
 *
 * [in] ema: averages.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_retain(htone_ema* ema);

/* Gives a reference back. Weights that averages stand in for stay as they are.
 *
 * [in] ema: optional; averages.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_release(htone_ema* ema);

/* Moves every average towards its weight: average = decay * average + (1 - decay) * weight. It is for the host to call
 * it after a step, or not after one that was skipped (htone_grad_scaler_outcome). No memory is allocated.
 *
 * [in] ema: borrowed.
 * Errors: INVALID_HANDLE, STATE (weights and averages are swapped).
 * Precision: FP32.
 * Source: the formula of torch.optim.swa_utils.get_ema_multi_avg_fn; the warm-up is TensorFlow's.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_update(htone_ema* ema);

/* Exchanges weights and averages, copies for autocast included; a second time restores both to the bit. Weights kept in
 * 16 bits without a master become the averages rounded, and are kept aside meanwhile: 2 bytes a parameter. A step in
 * between would train the averages, and an optimizer made in between that keeps weights in 16 bits alone rounds them.
 *
 * [in] ema: borrowed.
 * Errors: INVALID_HANDLE, OUT_OF_MEMORY (nothing has changed).
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_swap(htone_ema* ema);

/* Answers how many averages there are.
 *
 * [in] ema: borrowed.
 * [out] out_count: as many as parameters were in the set.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_count(htone_ema* ema, size_t* out_count);

/* Answers one average.
 *
 * [in] ema: borrowed.
 * [in] index: below the count.
 * [out] out: a copy in f32, of the parameter's shape; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (weights and averages are swapped), OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_ema_read(htone_ema* ema, size_t index, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
