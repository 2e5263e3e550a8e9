/** @file
 * Learning-rate schedules: factors on the learning rate that depend on the number of steps taken. An optimizer copies
 * the schedule that it is given; a skipped step does not move it.
 */
#ifndef HALFTONE_SCHEDULE_H
#define HALFTONE_SCHEDULE_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_schedule htone_schedule;

/** Makes a schedule that keeps the learning rate.
 *
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_constant(htone_schedule** out);

/** Makes a schedule that lowers the learning rate along half a cosine.
 *
 * @param[in] total_steps steps until the end is reached; at least 1. Later steps stay there.
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

/** Returns in out_factor what to multiply the learning rate by after `position` updates: a finite number of at least 0.
 * Anything but HTONE_OK stops what asked.
 */
typedef htone_status (*htone_schedule_fn)(int64_t position, double* out_factor, void* user);

/** Makes a schedule that the host computes. It is called where an optimizer steps, before anything changes, and where a
 * learning rate or a factor is asked for, on that thread; no lock is held. A skipped step leaves the position where it
 * was, so that the next call sees it again. A step under such a schedule waits for the device. What asks returns
 * CALLBACK where the callback fails, with its status as the native code, and INVALID_ARGUMENT for a factor that is
 * negative or not finite.
 *
 * @param[in] callback called as often as a factor is needed; must neither step nor ask the optimizer that asks. What
 *   else it does, to parameters, gradients and gradient scalers too, comes before the step that asks.
 * @param[in] user handed to callback; optional.
 * @param[in] destroy called once with `user` after the last schedule and optimizer that use it went, from any thread;
 *   optional. On failure it does not run.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_callback(htone_schedule_fn callback, void* user,
                                                      void (*destroy)(void* user), htone_schedule** out);

/** Makes a schedule that climbs in a straight line to where another begins, and then follows that one.
 *
 * @param[in] warmup_steps steps of the climb; at least 1. The other schedule's position counts from their end.
 * @param[in] start_factor share of the learning rate in the first step, in [0, 1].
 * @param[in] after copied; not itself a warm-up; borrowed.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.optim.lr_scheduler.LinearLR before another, in SequentialLR.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_warmup(int64_t warmup_steps, double start_factor, htone_schedule* after,
                                                    htone_schedule** out);

/** Returns what a schedule multiplies the learning rate by.
 *
 * @param[in] schedule borrowed.
 * @param[in] position the number of steps taken before; at least 0.
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
