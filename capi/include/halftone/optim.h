/** @file
 * Optimizers: what all of them share. adafactor.h, adam.h, adamw.h, lion.h, rmsprop.h and sgd.h make one over
 * parameters in groups, each with settings and storage of its own. Arithmetic is FP32 whatever the storage; the update
 * writes the weights and, in the same pass, the low-precision copy that autocast reads.
 * Moments in 8-bit codes, and BF16 first moments that keep more than 0.9 of themselves in a step, are rounded
 * stochastically, because rounding to nearest would stop their decay.
 */
#ifndef HALFTONE_OPTIM_H
#define HALFTONE_OPTIM_H

#include "halftone/parameters.h"
#include "halftone/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_optimizer htone_optimizer;

/** How an optimizer keeps the weights that it updates.
 *
 * Split weights need compute_dtype HTONE_BF16: the bf16 copy, rounded half up on the bit pattern, and a 16-bit
 * remainder are the FP32 weights together, to the bit, and no FP32 tensor is kept. htone_parameter_tensor then returns
 * the bf16 part, htone_parameter_read in HTONE_F32 joins the two.
 *
 * Weights without a master are compute_dtype alone, HTONE_BF16 or HTONE_F16, rounded to nearest when the optimizer
 * takes them; they may have been made in it. Each update rounds them up or down by chance, so that they move as FP32
 * weights would in the mean, where rounding to nearest loses every update below half a step. Beyond the largest finite
 * number they go to infinity by the share of the way there.
 *
 * An optimizer is made, and a group added, as a whole: all storage is there before any weight or gradient moves into
 * it, and where it fails they are as they were. Until then the storage that weights leave is in use as well.
 *
 * Leaves taken before weights were split or narrowed do not follow. Weights stay as they are after the optimizer's
 * release; split ones until another takes them otherwise, narrowed ones for good.
 */
typedef enum htone_master_storage {
  HTONE_MASTER_FULL = 0,  /**< an FP32 tensor, and the copy beside it */
  HTONE_MASTER_SPLIT = 1, /**< the copy and the remainder: 2 bytes a parameter less */
  HTONE_MASTER_NONE = 2,  /**< the weights in compute_dtype alone: 4 bytes a parameter less */
  HTONE_MASTER_STORAGE_MAX_ENUM = 0x7FFFFFFF
} htone_master_storage;

typedef enum htone_not_finite {
  HTONE_NOT_FINITE_NOTHING = 0,
  HTONE_NOT_FINITE_INFINITY = 1,
  HTONE_NOT_FINITE_NAN = 2,
  HTONE_NOT_FINITE_MAX_ENUM = 0x7FFFFFFF
} htone_not_finite;

/** What a step did. */
typedef struct htone_step_outcome {
  uint32_t struct_size;  /**< set by the caller to sizeof(htone_step_outcome) */
  int32_t skipped;       /**< 1 where the weights stayed, since a gradient was not finite */
  htone_not_finite kind; /**< what the first such element was */
  int32_t rank;          /**< where it was; 0 in one process */
  char parameter[256];   /**< the first parameter with such a gradient; empty where none was */
} htone_step_outcome;

/** An empty htone_step_outcome of the right size, to initialize one where it is declared. */
#define HTONE_STEP_OUTCOME_INIT \
  { sizeof(htone_step_outcome), 0, HTONE_NOT_FINITE_NOTHING, 0, "" }

/** What a step without a gradient scaler does with a gradient that holds an infinity or NaN. */
typedef enum htone_gradient_guard {
  HTONE_GRADIENT_GUARD_NONE = 0,  /**< it is not looked for, and reaches the weights, as in PyTorch */
  HTONE_GRADIENT_GUARD_SKIP = 1,  /**< the step leaves the weights as they are; htone_optimizer_outcome says so */
  HTONE_GRADIENT_GUARD_ERROR = 2, /**< the step fails with NOT_FINITE and names the parameter; it waits */
  HTONE_GRADIENT_GUARD_MAX_ENUM = 0x7FFFFFFF
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

/** Marks every gradient to be written anew by the next backward. Their memory stays.
 *
 * @param[in] optimizer borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer);

/** Updates the parameters that have a gradient since zero_grad; the others stay. The parameters of a group share one
 * count of steps, from the group's adding on: one whose first gradient comes late is corrected as if it had been there
 * from the start. Does not wait for the device.
 *
 * @param[in] optimizer borrowed.
 * @errors INVALID_HANDLE, STATE (no parameter has a gradient; a failed backward left invalid ones), CALLBACK and
 *   INVALID_ARGUMENT (from the callback of a schedule; nothing is stepped then), NOT_FINITE (under
 *   HTONE_GRADIENT_GUARD_ERROR; nothing is stepped then).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_step(htone_optimizer* optimizer);

/** Makes the learning rates of all groups follow a schedule from the next step on, which multiplies each group's own;
 * its position is the number of steps taken.
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
 * @param[in] lr finite, at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_group_lr(htone_optimizer* optimizer, size_t index, double lr);

/** Returns how many steps were taken; waits for the device.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_count the number of updates.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count);

/** Computes the Euclidean norm of all gradients together, times htone_optimizer_grad_factor; waits for the device.
 * After htone_grad_scaler_unscale it is that of the gradients as they were then, which must stay so until the step.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_norm the norm; infinite or NaN where a gradient is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient).
 * @precision FP32 sums over 256 elements, then double.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm);

/** Returns what the next step multiplies stored gradients by: 1/scale after htone_grad_scaler_unscale, times what
 * clipping took away; 1 after each step, and after htone_optimizer_zero_grad. Waits for the device.
 *
 * @param[in] optimizer borrowed.
 * @param[out] out_factor the factor.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor);

/** Makes the next step work with gradients whose norm, all together, is at most max_norm. The stored gradients stay; a
 * second call only lowers what the first has left of them, and htone_optimizer_zero_grad ends both. Under a gradient
 * scaler it comes after htone_grad_scaler_unscale.
 *
 * @param[in] optimizer borrowed.
 * @param[in] max_norm finite, above 0.
 * @param[in] error_if_nonfinite not 0: fails where a gradient holds an infinity or NaN, and changes nothing; waits for
 *   the device. 0: does not look, and does not wait.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient), NOT_FINITE.
 * @source the formula of torch.nn.utils.clip_grad_norm_.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm,
                                                      int32_t error_if_nonfinite);

/** Bounds every element of a gradient, after the factor, to [-value, value] in all steps to come.
 *
 * @param[in] optimizer borrowed.
 * @param[in] value above 0; infinity lifts the bound.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_grad_value_limit(htone_optimizer* optimizer, double value);

/** Chooses what steps do from now on with gradients that are not finite. A step through an enabled gradient scaler
 * always skips them, whatever is chosen here.
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
HTONE_API htone_status htone_step_outcome_init(htone_step_outcome* outcome);

/** Returns whether the last step of an optimizer changed the weights, and which gradient kept it from doing so; waits
 * for the device. Gradients are checked in steps through a gradient scaler and under a gradient guard.
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
