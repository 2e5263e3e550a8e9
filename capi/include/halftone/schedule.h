/** @file
 * Learning-rate schedules: factors on the learning rate that depend on the number of steps that were taken. An
 * optimizer copies its schedule; a skipped step does not advance it.
 *
 * @code
 * htone_schedule* schedule;
 * check(htone_schedule_create_cosine(1000, 0, &schedule));
 * check(htone_schedule_create_warmup(100, 0, schedule, &schedule)); // the climb, then the cosine
 * check(htone_schedule_factor(schedule, 100, &number));
 * assert(number == 1);
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_optimizer_set_schedule(optimizer, schedule));
 * @endcode
 */
#ifndef HALFTONE_SCHEDULE_H
#define HALFTONE_SCHEDULE_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A factor on the learning rate for each number of steps taken. */
typedef struct htone_schedule htone_schedule;

/** Makes a schedule that does not change the learning rate.
 *
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_constant(htone_schedule** out);

/** Makes a schedule that lowers the learning rate along half a cosine.
 *
 * @param[in] total_steps steps until the end is reached; at least 1. Later steps keep the final factor.
 * @param[in] final_factor share of the learning rate at the end, in [0, 1].
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source Loshchilov and Hutter, arXiv:1608.03983, one period.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_cosine(int64_t total_steps, double final_factor, htone_schedule** out);

/** Makes a schedule that multiplies the learning rate by `gamma` once every `step_size` steps.
 *
 * @param[in] step_size steps between two changes; at least 1.
 * @param[in] gamma in (0, 1].
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.optim.lr_scheduler.StepLR.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_step(int64_t step_size, double gamma, htone_schedule** out);

/** Writes to out_factor the factor on the learning rate after `position` updates: a finite number of at least 0. Any
 * status except HTONE_OK stops the call that needs the factor.
 */
typedef htone_status (*htone_schedule_fn)(int64_t position, double* out_factor, void* user);

/** Makes a schedule that the caller computes. The callback runs when an optimizer steps, before anything changes, and
 * when a learning rate or a factor is read, on the calling thread; no lock is held. A skipped step does not advance
 * the position, so the next call gets the same one. A step under such a schedule waits for the device. If the callback
 * fails, the call that needs the factor returns CALLBACK, with the callback's status as the native code; for a factor
 * that is negative or not finite it returns INVALID_ARGUMENT.
 *
 * @param[in] callback called whenever a factor is needed. It must neither step nor query the optimizer that calls it.
 *   All its other changes, also of parameters, gradients and gradient scalers, happen before the step that calls it.
 * @param[in] user handed to callback; optional.
 * @param[in] destroy called once with `user` after the last schedule and optimizer that use it were released, from any
 *   thread; optional. On failure it does not run.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_callback(htone_schedule_fn callback, void* user,
                                                      void (*destroy)(void* user), htone_schedule** out);

/** Makes a schedule that rises linearly to the start of another one, and then follows that one.
 *
 * @param[in] warmup_steps number of rising steps; at least 1. The position of the other schedule counts from their
 *   end.
 * @param[in] start_factor share of the learning rate in the first step, in [0, 1].
 * @param[in] after copied; not itself a warm-up; borrowed.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.optim.lr_scheduler.LinearLR before another, in SequentialLR.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_warmup(int64_t warmup_steps, double start_factor, htone_schedule* after,
                                                    htone_schedule** out);

/** Returns the factor of a schedule on the learning rate.
 *
 * @param[in] schedule borrowed.
 * @param[in] position the number of steps that were taken before; at least 0.
 * @param[out] out_factor the factor of the next step.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, CALLBACK.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_factor(htone_schedule* schedule, int64_t position, double* out_factor);

/** Adds a reference.
 *
 * @param[in] schedule a schedule.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_retain(htone_schedule* schedule);

/** Releases a reference.
 *
 * @param[in] schedule optional; a schedule.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_schedule_release(htone_schedule* schedule);

#ifdef __cplusplus
}
#endif

#endif
