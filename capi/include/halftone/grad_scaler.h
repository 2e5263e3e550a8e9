/** @file
 * The gradient scaler: multiplies the loss so that small gradients do not vanish in FP16, removes the factor before the
 * update, skips steps whose gradients overflowed, and adapts the scale.
 *
 * One step is: scale the loss, backward, optionally unscale and clip, step, update. With several optimizers, step each
 * one and update the scaler once. Gradients are never rewritten: reading one returns the stored, scaled values, and
 * htone_optimizer_grad_factor returns the factor that the update applies to them.
 *
 * @code
 * htone_grad_scaler* scaler;
 * htone_tensor* scaled;
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_grad_scaler_create(device, NULL, &scaler));
 * check(htone_grad_scaler_scale(scaler, loss, &scaled));
 * check(htone_tensor_backward(scaled, NULL, 0));
 * check(htone_grad_scaler_unscale(scaler, optimizer));
 * check(htone_optimizer_clip_grad_norm(optimizer, 1, 0));
 * check(htone_grad_scaler_step(scaler, optimizer));
 * check(htone_grad_scaler_update(scaler));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1); // 0 if it was skipped
 * @endcode
 */
#ifndef HALFTONE_GRAD_SCALER_H
#define HALFTONE_GRAD_SCALER_H

#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A loss scale, and the rules by which it changes. */
typedef struct htone_grad_scaler htone_grad_scaler;

/** The behaviour if a scale at its minimum would have to fall. */
typedef enum htone_at_minimum {
  HTONE_AT_MINIMUM_HOLD = 0, /**< it stays */
  HTONE_AT_MINIMUM_ERROR =
      1, /**< it stays, and htone_grad_scaler_update fails with STATE; update then waits each time */
  HTONE_AT_MINIMUM_CONTINUE = 2,         /**< it falls further, down to the smallest normal FP32 */
  HTONE_AT_MINIMUM_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_at_minimum;

/** The rules of other systems, with their defaults. */
typedef enum htone_scaler_preset {
  /** torch.amp.GradScaler. */
  HTONE_SCALER_TORCH = 0,
  /** DynamicLossScaler of DeepSpeed 0.17.1 (June 2025) to 0.19.8: window 1000, hysteresis 2, error at minimum 1. The
   * scale grows in the 1001st finite step after the start or an overflow, then every 1000 finite steps. Until 0.17.0 it
   * grew in the 1000th; that rule is this preset with grow_after_interval set to 0.
   */
  HTONE_SCALER_DEEPSPEED = 1,
  /** Megatron-LM's DynamicGradScaler: interval 1000, hysteresis 2, held at minimum 1, factors rounded to FP32. */
  HTONE_SCALER_MEGATRON = 2,
  /** halftone's own: interval 100, histogram_limit 2048, histogram_share 1e-4, histogram_trend. */
  HTONE_SCALER_HISTOGRAM = 3,
  HTONE_SCALER_PRESET_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_scaler_preset;

/** Settings of htone_grad_scaler_create. With a histogram_limit the scale does not grow step by step by growth_factor.
 * In a step in which it would grow, the gradients that are finite and not 0 are counted by exponent. The scale becomes
 * the largest power of two at which all of them except a share of histogram_share stay below histogram_limit, each
 * counted as the power of two above it. This may raise or lower the scale by any factor, between min_scale and
 * max_scale. Overflows skip the step and lower the scale as without a histogram. After that it rises by at most
 * growth_factor per interval, since an activation may have overflowed. If all gradients are 0, it grows by
 * growth_factor. With histogram_trend, gradients that grew since the last histogram, by a factor of at most 256, are
 * expected to grow by the same factor until the next one, and the scale leaves room for that: it falls before they
 * overflow.
 */
typedef struct htone_grad_scaler_options {
  uint32_t struct_size;    /**< sizeof of this structure */
  int32_t enabled;         /**< 0: everything passes through; default 1 */
  double initial_scale;    /**< default 65536; a normal FP32 above 0 */
  double growth_factor;    /**< default 2; at least 1. With backoff_factor 1 as well, the scale is static */
  double backoff_factor;   /**< default 0.5; in (0, 1] */
  double min_scale;        /**< default 0; at least 0 */
  double max_scale;        /**< default the largest FP32; the scale does not grow beyond it */
  int64_t growth_interval; /**< number of finite steps in a row, in the last of which the scale grows; default 2000; at
                              least 1 */
  int32_t hysteresis;      /**< overflows before the scale falls, renewed when it grows; default 1; at least 1 */
  int32_t renew_hysteresis_each_step; /**< not 0: every finite step renews hysteresis; default 0 */
  htone_at_minimum at_minimum;        /**< default HTONE_AT_MINIMUM_CONTINUE */
  uint32_t reserved;                  /**< 0 */
  double histogram_limit;             /**< above 0: the scale follows the gradients, as described above; default 0 */
  double histogram_share;      /**< share of the counted gradients that may be above the limit; default 0; in [0, 1) */
  int32_t grow_after_interval; /**< not 0: the scale grows in the finite step that follows the interval, and that step
                                * is the first of the next interval; default 0 */
  int32_t fp32_factors; /**< not 0: growth_factor and backoff_factor are rounded to FP32 before they multiply the scale;
                         * default 0: they are doubles, and the product is rounded to FP32 */
  int32_t histogram_trend; /**< not 0: with a histogram, the scale follows the trend of the gradients; default 0 */
  uint32_t reserved_field; /**< 0 */
} htone_grad_scaler_options;

/** The defaults, to initialize a htone_grad_scaler_options where it is declared. */
#define HTONE_GRAD_SCALER_OPTIONS_INIT                                                               \
  {                                                                                                  \
    sizeof(htone_grad_scaler_options), 1, 65536.0, 2.0, 0.5, 0.0, 3.4028234663852886e38, 2000, 1, 0, \
        HTONE_AT_MINIMUM_CONTINUE, 0, 0.0, 0.0, 0, 0, 0, 0                                           \
  }

/** The state of a scaler, to be saved and restored. */
typedef struct htone_scaler_state {
  uint32_t struct_size;    /**< set by the caller to sizeof(htone_scaler_state) */
  int32_t hysteresis_left; /**< number of overflows until the scale falls */
  double scale;            /**< the loss is multiplied by it */
  int64_t growth_tracker;  /**< finite steps since the last overflow or growth; with grow_after_interval the step in
                              which it grew counts */
  double ceiling;          /**< with a histogram: the limit of the scale since an overflow; 0: only max_scale */
  double bound;            /**< of the gradients of the last histogram, unscaled: a power of two above all but
                                histogram_share of them, divided by the scale; 0: there was none */
} htone_scaler_state;

/** An empty htone_scaler_state of the right size, to initialize one where it is declared. */
#define HTONE_SCALER_STATE_INIT \
  { sizeof(htone_scaler_state), 0, 0.0, 0, 0.0, 0.0 }

/** Fills options with the defaults, torch's.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_grad_scaler_options_init(htone_grad_scaler_options* options);

/** Fills options with the rules and defaults of another system.
 *
 * @param[in] preset one of HTONE_SCALER_...
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @source torch.amp.GradScaler; deepspeed.runtime.fp16.loss_scaler; megatron.core.optimizer.grad_scaler; for the
 *   histogram section 3.2 of Micikevicius et al., "Mixed Precision Training", ICLR 2018.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_options_preset(htone_scaler_preset preset, htone_grad_scaler_options* options);

/** Makes a scaler.
 *
 * @param[in] device of losses and gradients; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the scaler; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_create(htone_device* device, const htone_grad_scaler_options* options,
                                                htone_grad_scaler** out);

/** Adds a reference.
 *
 * @param[in] scaler a scaler.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_retain(htone_grad_scaler* scaler);

/** Releases a reference.
 *
 * @param[in] scaler optional; a scaler.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_grad_scaler_release(htone_grad_scaler* scaler);

/** Multiplies a loss by the scale; backward of the result leaves scaled gradients, which htone_optimizer_step refuses
 * until they are unscaled. Legal at any time.
 *
 * @param[in] scaler borrowed.
 * @param[in] loss float, on the scaler's device; borrowed.
 * @param[out] out loss times scale, f32 for a 16-bit scalar; loss itself if the scaler is not enabled; owned by the
 *   caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_mul.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_scale(htone_grad_scaler* scaler, htone_tensor* loss, htone_tensor** out);

/** Checks all gradients of an optimizer and sets their factor to 1/scale, so that they can be clipped before the step.
 *
 * @param[in] scaler borrowed.
 * @param[in] optimizer on the scaler's device; retained until the next update.
 * @errors INVALID_HANDLE, DEVICE, STATE (unscaled or stepped since the last update; no gradient), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_unscale(htone_grad_scaler* scaler, htone_optimizer* optimizer);

/** Unscales, unless that was done, and steps the optimizer, unless a gradient is not finite or a norm guard
 * (norm_guard.h) skips the step. In that case weights, moments, step count and schedule do not change. Never waits for
 * the device.
 *
 * @param[in] scaler borrowed.
 * @param[in] optimizer on the scaler's device; retained until the next update.
 * @errors INVALID_HANDLE, DEVICE, STATE (stepped since the last update; no gradient), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_step(htone_grad_scaler* scaler, htone_optimizer* optimizer);

/** Adapts the scale to the gradients since the last update, and makes every optimizer ready for its next step.
 *
 * @param[in] scaler borrowed.
 * @errors INVALID_HANDLE, STATE (no optimizer was unscaled or stepped; the scale is at its minimum under
 *   HTONE_AT_MINIMUM_ERROR; the update took place).
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_update(htone_grad_scaler* scaler);

/** Returns the scale that the next loss is multiplied by; waits for the device.
 *
 * @param[in] scaler borrowed.
 * @param[out] out_scale the scale; 1 if the scaler is not enabled.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_current_scale(htone_grad_scaler* scaler, double* out_scale);

/** Sets struct_size and empties the other fields, as HTONE_SCALER_STATE_INIT does.
 *
 * @param[out] empty caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_scaler_state_init(htone_scaler_state* empty);

/** Returns the state of a scaler; waits for the device.
 *
 * @param[in] scaler borrowed. One that is not enabled returns the state in which an enabled one would begin: its
 *   initial scale, or the state that was set.
 * @param[in,out] out_state struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_state(htone_grad_scaler* scaler, htone_scaler_state* out_state);

/** Restores a saved state.
 *
 * @param[in] scaler between an update and the next unscale or step; borrowed.
 * @param[in] saved scale a normal FP32 above 0, hysteresis_left at least 0, growth_tracker from 0 to 2^62, ceiling 0
 *   or a normal FP32 above 0, bound finite and at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, STATE (an optimizer was unscaled or stepped since the
 *   update).
 * @since 0.1
 */
HTONE_API htone_status htone_grad_scaler_set_state(htone_grad_scaler* scaler, const htone_scaler_state* saved);

#ifdef __cplusplus
}
#endif

#endif
