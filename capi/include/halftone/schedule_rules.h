/** @file
 * Further learning-rate schedules. They are computed in host memory, so a step under one waits for the device.
 * schedule.h describes what all schedules have in common.
 *
 * @code
 * htone_schedule* schedule;
 * check(htone_schedule_create_linear(1, 0, 10, &schedule));
 * check(htone_schedule_factor(schedule, 5, &number));
 * assert(number == 0.5);
 * @endcode
 */
#ifndef HALFTONE_SCHEDULE_RULES_H
#define HALFTONE_SCHEDULE_RULES_H

#include "halftone/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a schedule whose factor moves from one number to another in a straight line.
 *
 * @param[in] start_factor share of the learning rate in the first step, in [0, 1].
 * @param[in] final_factor share of the learning rate at the end, in [0, 1].
 * @param[in] total_steps steps until the end is reached; at least 1. Later steps stay there.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.optim.lr_scheduler.LinearLR.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_linear(double start_factor, double final_factor, int64_t total_steps,
                                                    htone_schedule** out);

/** Makes a schedule that multiplies the learning rate by `gamma` after every step.
 *
 * @param[in] gamma in (0, 1].
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.optim.lr_scheduler.ExponentialLR.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_exponential(double gamma, htone_schedule** out);

/** Makes a schedule that lowers the learning rate along half a cosine, and begins anew at the full rate after each
 * period.
 *
 * @param[in] first_period steps of the first period; at least 1.
 * @param[in] period_factor how many times as long as the one before a period is; at least 1.
 * @param[in] final_factor share of the learning rate that a period falls to, in [0, 1].
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source Loshchilov and Hutter, arXiv:1608.03983; torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_cosine_restarts(int64_t first_period, int64_t period_factor,
                                                             double final_factor, htone_schedule** out);

/** Settings of htone_schedule_create_one_cycle. */
typedef struct htone_one_cycle_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t linear;       /**< not 0: straight lines, not half cosines; default 0 */
  int64_t total_steps;  /**< of the whole cycle; at least 1; default 0, so that it must be set */
  double rise_share;    /**< share of the steps in which the rate rises, in [0, 1]; default 0.3 */
  double start_factor;  /**< share of the learning rate in the first step, in [0, 1]; default 1/25 */
  double final_factor;  /**< share of the learning rate in the last step, in [0, 1]; default 1/250000 */
  int32_t three_phases; /**< not 0: the rate falls to start_factor as fast as it rose, and then to final_factor; needs a
                           rise_share of at most 0.5; default 0 */
  uint32_t reserved;    /**< 0 */
} htone_one_cycle_options;

/** The defaults, to initialize an htone_one_cycle_options where it is declared. */
#define HTONE_ONE_CYCLE_OPTIONS_INIT \
  { sizeof(htone_one_cycle_options), 0, 0, 0.3, 1.0 / 25.0, 1.0 / 25.0 / 1e4, 0, 0 }

/** Fills options with the defaults; total_steps is 0 and must be set.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_one_cycle_options_init(htone_one_cycle_options* options);

/** Makes a schedule that raises the learning rate to that of the optimizer and then lowers it to far below where it
 * began. Unlike in PyTorch the optimizer's own rate is the highest of the cycle, the momentum does not change, and
 * steps after the last one stay at its rate.
 *
 * @param[in] options not optional, for it names total_steps.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source Smith and Topin, arXiv:1708.07120; torch.optim.lr_scheduler.OneCycleLR.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_one_cycle(const htone_one_cycle_options* options, htone_schedule** out);

/** Settings of htone_schedule_create_plateau. */
typedef struct htone_plateau_options {
  uint32_t struct_size;       /**< sizeof of this structure */
  int32_t maximize;           /**< not 0: a larger number is better; default 0 */
  double factor;              /**< what each change multiplies the rate by, in [0, 1); default 0.1 */
  int64_t patience;           /**< reports without improvement that change nothing; at least 0; default 10 */
  double threshold;           /**< by how much a number must be better to count; finite, at least 0; default 1e-4 */
  int64_t cooldown;           /**< reports after a change that count no failure; at least 0; default 0 */
  double min_factor;          /**< share of the learning rate below which it is not lowered, in [0, 1]; default 0 */
  double epsilon;             /**< a change of the share up to this is left out; finite, at least 0; default 1e-8 */
  int32_t absolute_threshold; /**< not 0: threshold is a difference, not a share of the best number; default 0 */
  uint32_t reserved;          /**< 0 */
} htone_plateau_options;

/** The defaults, to initialize a htone_plateau_options where it is declared. */
#define HTONE_PLATEAU_OPTIONS_INIT \
  { sizeof(htone_plateau_options), 0, 0.1, 10, 1e-4, 0, 0.0, 1e-8, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_plateau_options_init(htone_plateau_options* options);

/** Makes a schedule that lowers the learning rate when the numbers of htone_schedule_report have stopped to improve.
 * Optimizers that were given it share its progress, which a checkpoint saves with each of them. A load of a checkpoint
 * of another schedule leaves the progress as it is.
 *
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the schedule; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source torch.optim.lr_scheduler.ReduceLROnPlateau; min_factor and epsilon are of the factor, not of the rate.
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_create_plateau(const htone_plateau_options* options, htone_schedule** out);

/** Reports to a schedule of htone_schedule_create_plateau, or a warm-up before one, how well training goes: usually
 * once an epoch, with the loss on held-out data. The next step uses the rate that follows.
 *
 * @param[in] schedule borrowed; no optimizer that uses it steps meanwhile.
 * @param[in] metric the number; NaN is no improvement.
 * @errors INVALID_HANDLE, STATE (a schedule of another kind).
 * @since 0.1
 */
HTONE_API htone_status htone_schedule_report(htone_schedule* schedule, double metric);

#ifdef __cplusplus
}
#endif

#endif
