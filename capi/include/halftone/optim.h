/* Optimizers: what all of them share. adafactor.h, adam.h, adamw.h, lion.h, rmsprop.h and sgd.h make one over
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

typedef int32_t htone_master_storage;

/* How an optimizer keeps the weights that it updates.
 *
 * Split weights need compute_dtype HTONE_BF16: the bf16 copy, rounded half up on the bit pattern, and a 16-bit
 * remainder are the FP32 weights together, to the bit, and no FP32 tensor is kept. htone_parameter_tensor then answers
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
enum {
  HTONE_MASTER_FULL = 0,  /* an FP32 tensor, and the copy beside it */
  HTONE_MASTER_SPLIT = 1, /* the copy and the remainder: 2 bytes a parameter less */
  HTONE_MASTER_NONE = 2   /* the weights in compute_dtype alone: 4 bytes a parameter less */
};

/* Adds a reference.
 *
 * [in] optimizer: an optimizer.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_retain(htone_optimizer* optimizer);

/* Gives a reference back.
 *
 * [in] optimizer: optional; an optimizer.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_release(htone_optimizer* optimizer);

/* Marks every gradient to be written anew by the next backward. Their memory stays.
 *
 * [in] optimizer: borrowed.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer);

/* Updates the parameters that have a gradient since zero_grad; the others stay. The parameters of a group share one
 * count of steps, from the group's adding on: one whose first gradient comes late is corrected as if it had been there
 * from the start. Does not wait for the device.
 *
 * [in] optimizer: borrowed.
 * Errors: INVALID_HANDLE, STATE (no parameter has a gradient; a failed backward left invalid ones), CALLBACK and
 *   INVALID_ARGUMENT (from a schedule of the host; nothing is stepped then).
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_step(htone_optimizer* optimizer);

/* Makes the learning rates of all groups follow a schedule from the next step on, which multiplies each group's own;
 * its position is the number of steps taken.
 *
 * [in] optimizer: borrowed.
 * [in] schedule: copied.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_set_schedule(htone_optimizer* optimizer, htone_schedule* schedule);

/* Answers the learning rate that the next step will use for the first group; waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_lr: the learning rate.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, CALLBACK.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_lr(htone_optimizer* optimizer, double* out_lr);

/* Answers how many groups of parameters an optimizer has: one, and one more for each that was added.
 *
 * [in] optimizer: borrowed.
 * [out] out_count: the number of groups.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_group_count(htone_optimizer* optimizer, size_t* out_count);

/* Answers the learning rate that the next step will use for a group: its own times the schedule's factor; waits for the
 * device.
 *
 * [in] optimizer: borrowed.
 * [in] index: of the group, in the order of adding; below the group count.
 * [out] out_lr: the learning rate.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, CALLBACK.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_group_lr(htone_optimizer* optimizer, size_t index, double* out_lr);

/* Sets a group's own learning rate, which the schedule multiplies, from the next step on.
 *
 * [in] optimizer: borrowed.
 * [in] index: of the group, in the order of adding; below the group count.
 * [in] lr: finite, at least 0.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_set_group_lr(htone_optimizer* optimizer, size_t index, double lr);

/* Answers how many steps were taken; waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_count: the number of updates.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count);

/* Computes the Euclidean norm of all gradients together, times htone_optimizer_grad_factor; waits for the device. After
 * htone_grad_scaler_unscale it is that of the gradients as they were then, which must stay so until the step.
 *
 * [in] optimizer: borrowed.
 * [out] out_norm: the norm; infinite or NaN where a gradient is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient).
 * Precision: FP32 sums over 256 elements, then double.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm);

/* Answers what the next step multiplies stored gradients by: 1/scale after htone_grad_scaler_unscale, times what
 * clipping took away; 1 after each step, and after htone_optimizer_zero_grad. Waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_factor: the factor.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor);

/* Makes the next step work with gradients whose norm, all together, is at most max_norm. The stored gradients stay; a
 * second call only lowers what the first has left of them, and htone_optimizer_zero_grad ends both. Under a gradient
 * scaler it comes after htone_grad_scaler_unscale.
 *
 * [in] optimizer: borrowed.
 * [in] max_norm: finite, above 0.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient).
 * Source: the formula of torch.nn.utils.clip_grad_norm_.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm);

/* Bounds every element of a gradient, after the factor, to [-value, value] in all steps to come.
 *
 * [in] optimizer: borrowed.
 * [in] value: above 0; infinity lifts the bound.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_set_clip_value(htone_optimizer* optimizer, double value);

#ifdef __cplusplus
}
#endif

#endif
