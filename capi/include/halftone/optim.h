/** @file
 * Optimizers: steps, learning rates and outcomes. optimizer.h makes one over groups of parameters, each with its own
 * settings and storage. Arithmetic is FP32 for every storage; the update writes the weights and, in the same pass, the
 * low-precision copy that autocast reads. Moments in 8-bit codes, and
 * BF16 first moments that keep more than 0.9 of themselves in a step, are rounded stochastically, because rounding to
 * nearest would stop their decay. Adafactor, Adam, AdamW and RMSprop square gradients in FP32: they use finite elements
 * beyond 2^62 (4.6e18), after the factor, as +-2^62. A second moment so stays finite, and decays.
 *
 * @code
 * htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_optimizer_zero_grad(optimizer));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_clip_grad_norm(optimizer, 1, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_outcome(optimizer, &outcome));
 * assert(outcome.skipped == 0);
 * @endcode
 */
#ifndef HALFTONE_OPTIM_H
#define HALFTONE_OPTIM_H

#include "halftone/parameters.h"
#include "halftone/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An optimizer over one or more groups of parameters. */
typedef struct htone_optimizer htone_optimizer;

/** The storage of the weights that an optimizer updates.
 *
 * Split weights need compute_dtype HTONE_BF16: the bf16 copy, rounded half up on the bit pattern, and a 16-bit
 * remainder together are exactly the FP32 weights, and no FP32 tensor is kept. htone_parameter_tensor then returns the
 * bf16 part, htone_parameter_read in HTONE_F32 joins the two.
 *
 * Weights without a master are only kept in compute_dtype, HTONE_BF16 or HTONE_F16. They are rounded to nearest when
 * the optimizer gets them, or were already made in that dtype. Each update rounds them stochastically, so that in the
 * mean they move as FP32 weights would; rounding to nearest would lose every update below half a step. Beyond the
 * largest finite number they become infinite with the probability that corresponds to their distance.
 *
 * An optimizer or a group is added completely or not at all: all storage is allocated before any weight or gradient
 * moves into it, and after a failure nothing has changed. Until then the old storage of the weights is in use as well.
 *
 * Leaves that were taken before weights were split or narrowed do not change with them. After the optimizer's release,
 * weights keep their storage: split ones until another optimizer stores them otherwise, narrowed ones for ever.
 */
typedef enum htone_master_storage {
  HTONE_MASTER_FULL = 0,                     /**< an FP32 tensor, and the copy beside it */
  HTONE_MASTER_SPLIT = 1,                    /**< the copy and the remainder: 2 bytes a parameter less */
  HTONE_MASTER_NONE = 2,                     /**< only the weights in compute_dtype: 4 bytes a parameter less */
  HTONE_MASTER_STORAGE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_master_storage;

/** The kinds of values that are not finite. */
typedef enum htone_not_finite {
  HTONE_NOT_FINITE_NOTHING = 0,          /**< all values are finite */
  HTONE_NOT_FINITE_INFINITY = 1,         /**< an infinity */
  HTONE_NOT_FINITE_NAN = 2,              /**< a NaN */
  HTONE_NOT_FINITE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_not_finite;

/** The outcome of a step. */
typedef struct htone_step_outcome {
  uint32_t struct_size;  /**< set by the caller to sizeof(htone_step_outcome) */
  int32_t skipped;       /**< 1 if the weights did not change, since a gradient was not finite or exceeded is 1 */
  htone_not_finite kind; /**< the kind of the first element that is not finite */
  int32_t rank;          /**< the lowest rank whose gradient of `parameter` had it before ranks were averaged, in the
                              first backward of the step that had one. -1 if there is none, or it is unknown: no ranks
                              averaged, the average alone was not finite, the step had no gradient scaler, or the
                              device is a GPU */
  char parameter[256];   /**< the first parameter with such a gradient; if exceeded or bounded is 1, the one with the
                              largest part of the norm; empty if there was none */
  double grad_norm;  /**< the norm of all gradients, unscaled and before clipping; 0 if the step did not check them */
  double norm_limit; /**< the limit of the norm guard (norm_guard.h) in the step; 0 if it had none */
  int32_t exceeded;  /**< 1 if grad_norm was above norm_limit */
  int32_t bounded;   /**< 1 if the norm after clipping was above 2^62, so that a rule with second moments bounded
                          elements beyond that; always 0 for SGD and Lion */
} htone_step_outcome;

/** An empty htone_step_outcome of the right size, to initialize one where it is declared. */
#define HTONE_STEP_OUTCOME_INIT \
  { sizeof(htone_step_outcome), 0, HTONE_NOT_FINITE_NOTHING, -1, "", 0.0, 0.0, 0, 0 }

/** The behaviour of a step without a gradient scaler if a gradient has an infinity or NaN. */
typedef enum htone_gradient_guard {
  HTONE_GRADIENT_GUARD_NONE = 0,  /**< no check: it reaches the weights, as in PyTorch */
  HTONE_GRADIENT_GUARD_SKIP = 1,  /**< the step does not change the weights; htone_optimizer_outcome reports it */
  HTONE_GRADIENT_GUARD_ERROR = 2, /**< the step waits for the device, fails with NOT_FINITE and names the parameter */
  HTONE_GRADIENT_GUARD_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_gradient_guard;

/** Adds a reference.
 *
 * @param[in] optimizer an optimizer.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_retain(htone_optimizer* optimizer);

/** Releases a reference.
 *
 * @param[in] optimizer optional; an optimizer.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_optimizer_release(htone_optimizer* optimizer);

/** Drops every gradient, so that a parameter has none until a backward writes it anew. As in PyTorch's zero_grad, the
 * memory is released, so that a step's forward can use it; a new optimizer allocates no gradients either. Gradients
 * keep their memory where other code uses it: while the caller holds a tensor of htone_parameter_grad, in the
 * buffers of data-parallel training (ddp.h, fsdp.h), and while a graph that was captured with them lives (graph.h).
 *
 * @param[in] optimizer borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer);

/** Updates the parameters that got a gradient since zero_grad; the others do not change. Each parameter counts its own
 * updates, as in PyTorch: steps in which it has no gradient, and skipped ones, do not count. So a parameter whose first
 * gradient comes late, such as an unfrozen one, begins as in a new optimizer. Gradients stay until they are zeroed, so
 * a second step uses them again. Does not wait for the device.
 *
 * @param[in] optimizer borrowed.
 * @errors INVALID_HANDLE, STATE (no parameter has a gradient; gradients are invalid since a failed backward; they are
 *   those of a loss that a gradient scaler made, and were not unscaled), CALLBACK and INVALID_ARGUMENT (from the
 *   callback of a schedule; no weight changes then), NOT_FINITE (under HTONE_GRADIENT_GUARD_ERROR; no weight changes
 *   then), IO and OUT_OF_MEMORY (of offloaded state; fsdp.h says which weights change then).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_step(htone_optimizer* optimizer);

/** Sets the schedule of an optimizer. From the next step on, it multiplies the learning rate of every group; its
 * position is the number of steps that were taken.
 *
 * @param[in] optimizer borrowed.
 * @param[in] schedule copied.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_schedule(htone_optimizer* optimizer, htone_schedule* schedule);

/** Returns the learning rate that the next step will use for the first group; waits for the device.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_lr the learning rate.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, CALLBACK.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_lr(htone_optimizer* optimizer, double* out_lr);

/** Returns how many groups of parameters an optimizer has: one, and one more for each that was added.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_count the number of groups.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_group_count(htone_optimizer* optimizer, size_t* out_count);

/** Returns the learning rate that the next step will use for a group: its own times the schedule's factor; waits for
 * the device.
 *
 * @param[in] optimizer borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[out] out_lr the learning rate.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, CALLBACK.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_group_lr(htone_optimizer* optimizer, size_t index, double* out_lr);

/** Sets a group's own learning rate, which the schedule multiplies, from the next step on.
 *
 * @param[in] optimizer borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] lr finite in FP32, at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_group_lr(htone_optimizer* optimizer, size_t index, double lr);

/** Returns the number of steps that were taken; waits for the device.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_count the number of updates.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count);

/** Computes the Euclidean norm of all gradients together, times htone_optimizer_grad_factor; waits for the device.
 * After htone_grad_scaler_unscale it is that of the gradients at that time; they must not change until the step.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_norm the norm; infinite or NaN if a gradient is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient).
 * @precision FP32 sums over 256 elements, then double.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm);

/** Returns the factor that the next step applies to stored gradients: 1/scale after htone_grad_scaler_unscale, times
 * the factor of clipping; 1 after each step, and after htone_optimizer_zero_grad. Waits for the device.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_factor the factor.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor);

/** Limits the norm of all gradients together, in the next step, to max_norm. The stored gradients do not change. A
 * second call can only lower the result of the first, and htone_optimizer_zero_grad ends both. With a gradient scaler,
 * call it after htone_grad_scaler_unscale.
 *
 * @param[in] optimizer borrowed.
 * @param[in] max_norm finite, above 0.
 * @param[in] error_if_nonfinite not 0: fails if a gradient has an infinity or NaN, and changes nothing; waits for the
 *   device. 0: no check, and no wait.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient; gradients of a scaled loss were not
 *   unscaled), NOT_FINITE.
 * @source the formula of torch.nn.utils.clip_grad_norm_.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm,
                                                      int32_t error_if_nonfinite);

/** Bounds every element of a gradient, after the factor, to [-value, value] in all later steps.
 *
 * @param[in] optimizer borrowed.
 * @param[in] value above 0; infinity removes the bound.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_grad_value_limit(htone_optimizer* optimizer, double value);

/** Chooses the behaviour of all later steps if a gradient is not finite. A step through an enabled gradient scaler is
 * always skipped then, for every choice.
 *
 * @param[in] optimizer borrowed.
 * @param[in] guard HTONE_GRADIENT_GUARD_NONE, which is the default, _SKIP or _ERROR.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_gradient_guard(htone_optimizer* optimizer, htone_gradient_guard guard);

/** Sets struct_size and empties the other fields, as HTONE_STEP_OUTCOME_INIT does.
 *
 * @param[out] outcome caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_step_outcome_init(htone_step_outcome* outcome);

/** Returns whether the last step of an optimizer changed the weights, and if not, the gradient that was not finite;
 * waits for the device. Gradients are checked in steps through a gradient scaler, under a gradient guard or a norm
 * guard, and for clipping by norm, which skips nothing. Other steps report neither norms nor bounded gradients.
 *
 * @param[in] optimizer borrowed.
 * @param[in,out] out_outcome struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_outcome(htone_optimizer* optimizer, htone_step_outcome* out_outcome);

#ifdef __cplusplus
}
#endif

#endif
