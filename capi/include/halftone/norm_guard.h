/** @file
 * A guard on the size of gradients: a step whose global norm is above a limit does not change the weights, or is only
 * reported. One batch with a loss out of all proportion else spoils moments for thousands of steps, though every number
 * in it is finite.
 *
 * The norm is that of all gradients of an optimizer together, without the scale of a gradient scaler and before
 * clipping. Where ranks share the gradients, it is that of all ranks, so that all of them decide alike. The check works
 * with a gradient scaler and without, and never waits for the device.
 *
 * @code
 * htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
 * htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
 * guard.max_norm_ratio = 10; // above ten times the usual norm
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_optimizer_set_norm_guard(optimizer, &guard));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_outcome(optimizer, &outcome));
 * assert(outcome.exceeded == 0 && outcome.grad_norm > 0);
 * @endcode
 */
#ifndef HALFTONE_NORM_GUARD_H
#define HALFTONE_NORM_GUARD_H

#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_optimizer_set_norm_guard. The smaller of both limits holds.
 *
 * The running mean is mean += w (norm - mean), where w is the larger of 1 - decay and 1 / (number of norms so far). A
 * skipped step does not change it. Under report_only, a norm above the limit counts as the limit.
 */
typedef struct htone_norm_guard_options {
  uint32_t struct_size;  /**< sizeof of this structure */
  int32_t report_only;   /**< not 0: steps above the limit change the weights; default 0: they are skipped */
  double max_norm;       /**< limit of the norm; default 0: none; finite, at least 0 */
  double max_norm_ratio; /**< limit of the norm divided by its running mean; default 0: none; 0 or at least 1, finite */
  double decay;          /**< of the running mean; default 0.99; in [0, 1) */
  int64_t warmup_steps;  /**< norms in the mean before max_norm_ratio holds; default 100; at least 1, at most 2^62 */
} htone_norm_guard_options;

/** The defaults, to initialize an htone_norm_guard_options where it is declared. */
#define HTONE_NORM_GUARD_OPTIONS_INIT \
  { sizeof(htone_norm_guard_options), 0, 0.0, 0.0, 0.99, 100 }

/** Fills options with the defaults, which limit nothing.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_norm_guard_options_init(htone_norm_guard_options* options);

/** Limits the norm of the gradients of all later steps. A step above the limit is skipped as one whose gradients are
 * not finite: weights, moments, step count and schedule do not change, and htone_optimizer_outcome reports it. A
 * gradient scaler does not lower its scale for it. Unless report_only is set, the guard also skips steps whose
 * gradients are not finite, for every choice of htone_optimizer_set_gradient_guard but HTONE_GRADIENT_GUARD_ERROR.
 * Changed limits keep the running mean. A checkpoint of the optimizer saves the mean, but not the settings.
 *
 * @param[in] optimizer borrowed.
 * @param[in] options optional; NULL means the defaults. If both limits are 0, the guard ends and forgets its mean, and
 *   the call waits for the device.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED.
 * @precision the norm as htone_optimizer_grad_norm; the mean in double.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_norm_guard(htone_optimizer* optimizer,
                                                      const htone_norm_guard_options* options);

#ifdef __cplusplus
}
#endif

#endif
