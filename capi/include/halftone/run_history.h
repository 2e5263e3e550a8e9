/** @file
 * Reads the record of a run (statistics.h): its last steps, counts and means, and spikes, which are numbers that stand
 * out. These functions may be called from any thread while another one trains, and wait for no device.
 *
 * @code
 * static htone_status count_spikes(int64_t step, const char* quantity, void* user) {
 *   *(int*)user += step == 1 && strcmp(quantity, "loss") == 0;
 *   return HTONE_OK;
 * }
 *
 * htone_statistics* statistics;
 * htone_run_summary summary = HTONE_RUN_SUMMARY_INIT;
 * htone_spike spike = HTONE_SPIKE_INIT;
 * int spikes = 0;
 * check(htone_statistics_create(device, NULL, &statistics));
 * check(htone_statistics_set_spike_callback(statistics, count_spikes, &spikes, NULL));
 * check(htone_statistics_begin_step(statistics));
 * check(htone_statistics_end_step(statistics, strtod("inf", NULL), 2));
 * check(htone_statistics_summary(statistics, &summary));
 * check(htone_statistics_last_spike(statistics, &spike));
 * assert(summary.steps == 1 && summary.spikes == 1 && spikes == 1 && spike.value > 1e308);
 * @endcode
 */
#ifndef HALFTONE_RUN_HISTORY_H
#define HALFTONE_RUN_HISTORY_H

#include "halftone/statistics.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The fate of the weights in a step. */
typedef enum htone_recorded_outcome {
  HTONE_RECORDED_UNKNOWN = 0,                  /**< the record has no optimizer */
  HTONE_RECORDED_STEPPED = 1,                  /**< they were updated */
  HTONE_RECORDED_SKIPPED = 2,                  /**< they stayed, as htone_step_outcome.skipped says */
  HTONE_RECORDED_OUTCOME_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_recorded_outcome;

/** The numbers that are searched for spikes. */
typedef enum htone_spike_quantity {
  HTONE_SPIKE_LOSS = 1,                      /**< the loss of a step; "loss" */
  HTONE_SPIKE_GRAD_NORM = 2,                 /**< the norm of its gradients; "grad_norm" */
  HTONE_SPIKE_QUANTITY_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_spike_quantity;

/** One step. */
typedef struct htone_step_record {
  uint32_t struct_size;           /**< set by the caller to sizeof(htone_step_record) */
  htone_recorded_outcome outcome; /**< of the optimizer's last step */
  int64_t step;                   /**< its number; the first is 1 */
  double loss;                    /**< as given to htone_statistics_end_step */
  double lr;                      /**< the learning rate of the first group in the step; 0 without an optimizer */
  double loss_scale;              /**< that the step used; 0 without a gradient scaler */
  double grad_norm;               /**< of all gradients, unscaled and before clipping; 0 if the step did not need it */
  int64_t items;                  /**< as given to htone_statistics_end_step */
  double items_per_second;        /**< items / seconds */
  double seconds;                 /**< from begin_step to end_step, by the clock of the context */
  double data_seconds;            /**< time in HTONE_STEP_PART_DATA; the five add up to `seconds` */
  double forward_seconds;         /**< time in HTONE_STEP_PART_FORWARD */
  double backward_seconds;        /**< time in HTONE_STEP_PART_BACKWARD */
  double optimizer_seconds;       /**< time in HTONE_STEP_PART_OPTIMIZER */
  double other_seconds;           /**< time in HTONE_STEP_PART_OTHER */
  int64_t memory[8];              /**< requested bytes by HTONE_MEMORY_..., at that call of begin_part or end_step of
                                       the step at which most were in use; unused entries are 0 */
  int64_t peak_memory;            /**< the device's highest number of requested bytes until the end of the step */
  char overflow[256];             /**< the parameter for which the step was skipped; empty if it was not, or if that is
                                       unknown */
} htone_step_record;

/** An empty htone_step_record of the right size, to initialize one where it is declared. */
#define HTONE_STEP_RECORD_INIT                                                                                      \
  {                                                                                                                 \
    sizeof(htone_step_record), HTONE_RECORDED_UNKNOWN, 0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, \
        {0, 0, 0, 0, 0, 0, 0, 0}, 0, ""                                                                             \
  }

/** Counts since the record began, and means over the steps that are in memory. */
typedef struct htone_run_summary {
  uint32_t struct_size;          /**< set by the caller to sizeof(htone_run_summary) */
  uint32_t reserved;             /**< 0 */
  int64_t steps;                 /**< the number of the last step; 0 if there is none */
  int64_t recorded;              /**< the number of steps that this record has seen */
  int64_t skipped;               /**< of these, how many did not change the weights */
  int64_t spikes;                /**< spikes of loss or norm */
  int64_t kept;                  /**< the number of steps in memory: the last of them are steps - kept + 1 to steps */
  double last_loss;              /**< of the last step; NaN if there is none */
  double mean_loss;              /**< of the losses that are finite; NaN if there is none */
  double mean_seconds;           /**< of a step; 0 if there is none */
  double items_per_second;       /**< all items / all seconds */
  double mean_data_seconds;      /**< of a step in HTONE_STEP_PART_DATA */
  double mean_forward_seconds;   /**< of a step in HTONE_STEP_PART_FORWARD */
  double mean_backward_seconds;  /**< of a step in HTONE_STEP_PART_BACKWARD */
  double mean_optimizer_seconds; /**< of a step in HTONE_STEP_PART_OPTIMIZER */
  double mean_other_seconds;     /**< of a step in HTONE_STEP_PART_OTHER */
} htone_run_summary;

/** An empty htone_run_summary of the right size, to initialize one where it is declared. */
#define HTONE_RUN_SUMMARY_INIT \
  { sizeof(htone_run_summary), 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }

/** A number that stood out. */
typedef struct htone_spike {
  uint32_t struct_size;          /**< set by the caller to sizeof(htone_spike) */
  htone_spike_quantity quantity; /**< of the step */
  int64_t step;                  /**< its number */
  double value;                  /**< the quantity in the step */
  double mean;                   /**< of the window before it; NaN if that was empty */
  double deviation;              /**< standard deviation of that window; NaN if it had fewer than two numbers */
} htone_spike;

/** An empty htone_spike of the right size, to initialize one where it is declared. */
#define HTONE_SPIKE_INIT \
  { sizeof(htone_spike), HTONE_SPIKE_LOSS, 0, 0.0, 0.0, 0.0 }

/** Called for each spike with the number of its step and the name of its quantity, "loss" or "grad_norm".
 * htone_statistics_last_spike returns the rest of it. A status except HTONE_OK makes htone_statistics_end_step fail.
 */
typedef htone_status (*htone_spike_fn)(int64_t step, const char* quantity, void* user);

/** Sets struct_size and empties the other fields, as HTONE_STEP_RECORD_INIT does.
 *
 * @param[out] record caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_step_record_init(htone_step_record* record);

/** Sets struct_size and empties the other fields, as HTONE_RUN_SUMMARY_INIT does.
 *
 * @param[out] summary caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_run_summary_init(htone_run_summary* summary);

/** Sets struct_size and empties the other fields, as HTONE_SPIKE_INIT does.
 *
 * @param[out] spike caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_spike_init(htone_spike* spike);

/** Sets the function that is called at the end of a step with a spike, on the thread of htone_statistics_end_step,
 * after all is recorded and written. It may call the record, and may set another function. If it fails,
 * htone_statistics_end_step returns CALLBACK with its status as the native code.
 *
 * @param[in] statistics borrowed.
 * @param[in] callback optional; NULL ends the calls.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user`, from any thread, when the callback is replaced or the record is freed;
 *   optional. On failure, and without a callback, it does not run.
 * @errors INVALID_HANDLE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_set_spike_callback(htone_statistics* statistics, htone_spike_fn callback,
                                                           void* user, void (*destroy)(void* user));

/** Returns counts since the record began, and means over the steps in memory.
 *
 * @param[in] statistics borrowed.
 * @param[in,out] out_summary struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_summary(htone_statistics* statistics, htone_run_summary* out_summary);

/** Returns one step that is in memory.
 *
 * @param[in] statistics borrowed.
 * @param[in] step its number: one of the last `kept` of htone_run_summary.
 * @param[in,out] out_record struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (the step is not in memory).
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_step(htone_statistics* statistics, int64_t step, htone_step_record* out_record);

/** Returns the newest spike.
 *
 * @param[in] statistics borrowed.
 * @param[in,out] out_spike struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (there was none).
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_last_spike(htone_statistics* statistics, htone_spike* out_spike);

#ifdef __cplusplus
}
#endif

#endif
