/** @file
 * The record of a run of training: loss, learning rate, loss scale, outcome, norm, times and memory of each step, in
 * memory and as a file of JSON lines. docs/training-statistics.md describes the file and what it costs.
 *
 * The thread that trains calls begin_step, then begin_part where a part begins, then end_step. While it trains, any
 * thread may read the record by the functions of run_history.h. All other calls come from one thread at a time.
 *
 * @code
 * htone_statistics* statistics;
 * htone_step_record step = HTONE_STEP_RECORD_INIT;
 * check(htone_optimizer_create(model, NULL, &optimizer));
 * check(htone_statistics_create(device, NULL, &statistics));
 * check(htone_statistics_set_optimizer(statistics, optimizer, NULL));
 * check(htone_statistics_write_to(statistics, "run.jsonl"));
 * check(htone_statistics_begin_step(statistics)); // and then forward
 * check(htone_statistics_begin_part(statistics, HTONE_STEP_PART_BACKWARD));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_statistics_begin_part(statistics, HTONE_STEP_PART_OPTIMIZER));
 * check(htone_optimizer_step(optimizer));
 * check(htone_tensor_item(loss, &number));
 * check(htone_statistics_end_step(statistics, number, 2)); // of 2 rows
 * check(htone_statistics_step(statistics, 1, &step));
 * assert(step.loss == number && step.lr == 1e-3 && step.outcome == HTONE_RECORDED_STEPPED);
 * assert(remove("run.jsonl") == 0);
 * @endcode
 */
#ifndef HALFTONE_STATISTICS_H
#define HALFTONE_STATISTICS_H

#include "halftone/grad_scaler.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The record of a run. */
typedef struct htone_statistics htone_statistics;

/** The parts of a step. htone_step_record (run_history.h) has the time of each. */
typedef enum htone_step_part {
  HTONE_STEP_PART_OTHER = 0,            /**< none of the others; each step begins with it */
  HTONE_STEP_PART_DATA = 1,             /**< reading a batch */
  HTONE_STEP_PART_FORWARD = 2,          /**< of the model and the loss */
  HTONE_STEP_PART_BACKWARD = 3,         /**< the gradients */
  HTONE_STEP_PART_OPTIMIZER = 4,        /**< unscaling, clipping, the update */
  HTONE_STEP_PART_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_step_part;

/** Settings of htone_statistics_create.
 *
 * A spike is a loss or a norm that is not finite, or that is above the mean of the last spike_window finite ones by
 * more than spike_deviations standard deviations, once there are ten. A deviation below 1e-6 of the mean is rounding,
 * and counts as that much. Spikes enter the window, too, so that a new level is not reported for ever. A norm that is
 * not finite in a step that a gradient scaler skips is no spike: scalers find their scale in this way.
 */
typedef struct htone_statistics_options {
  uint32_t struct_size;    /**< sizeof of this structure */
  int32_t spike_window;    /**< default 100; 10 to 65536 */
  int64_t capacity;        /**< the number of steps in memory, 224 bytes each; default 10000; at least 1 */
  double spike_deviations; /**< default 6; finite, at least 0; 0: no step is searched for spikes */
  const char* label;       /**< the run's name in its file and in reports, copied: UTF-8 without control characters;
                                default NULL: none */
} htone_statistics_options;

/** The defaults, to initialize a htone_statistics_options where it is declared. */
#define HTONE_STATISTICS_OPTIONS_INIT \
  { sizeof(htone_statistics_options), 100, 10000, 6.0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_statistics_options_init(htone_statistics_options* options);

/** Makes a record without steps.
 *
 * @param[in] device whose memory is recorded; retained.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the record; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_create(htone_device* device, const htone_statistics_options* options,
                                               htone_statistics** out);

/** Adds a reference.
 *
 * @param[in] statistics a record.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_retain(htone_statistics* statistics);

/** Releases a reference. With the last one, the file is completed as by htone_statistics_flush; a failure goes to the
 * log.
 *
 * @param[in] statistics optional; a record.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_statistics_release(htone_statistics* statistics);

/** Sets the optimizer of the run: the steps that begin from now on record its learning rate, the loss scale, the
 * outcome and the norm. Without one, these are left out.
 *
 * @param[in] statistics borrowed.
 * @param[in] optimizer optional, NULL means none; on the record's device; retained.
 * @param[in] scaler optional, NULL means none; with an optimizer only; retained.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (a scaler alone), DEVICE, STATE (within a step).
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_set_optimizer(htone_statistics* statistics, htone_optimizer* optimizer,
                                                      htone_grad_scaler* scaler);

/** Sets the number of steps that the run has done, as one that goes on after a checkpoint does: the next step gets the
 * number after it. Steps, spikes and counts in memory are dropped. Comes before htone_statistics_write_to.
 *
 * @param[in] statistics borrowed.
 * @param[in] count at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (within a step; a file is written).
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_set_step_count(htone_statistics* statistics, int64_t count);

/** Writes the record to a file from now on. At the end of each step its lines are complete in the file, so that another
 * process may read them, and that a process which is killed loses none; htone_statistics_flush brings them to the disk.
 * If the step count is 0, a record that is there is replaced. Otherwise its lines of later steps are removed, and an
 * incomplete last line. A file that is no record is left alone. Links are replaced, and FIFOs and devices refused.
 * The file belongs to one record: if another one begins at the path, or the file is deleted, later lines of this one
 * are lost without an error.
 *
 * @param[in] statistics borrowed. A file that it writes already is completed first.
 * @param[in] path zero-terminated; opened by the file functions of the device's context.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO, FORMAT (the file there is no record), OUT_OF_MEMORY. A former file then
 *   goes on.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_write_to(htone_statistics* statistics, const char* path);

/** Completes the file: waits for statistics of tensors that the device still computes, and until all lines are on the
 * disk. A sample that waits for the next step, to estimate noise (monitor.h), ends without it. Without a file only the
 * statistics in memory are completed.
 *
 * @param[in] statistics borrowed.
 * @errors INVALID_HANDLE, IO, DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_flush(htone_statistics* statistics);

/** Begins a step, with HTONE_STEP_PART_OTHER. With an optimizer it waits for the device, and reads the learning rate
 * and the loss scale.
 *
 * @param[in] statistics borrowed.
 * @errors INVALID_HANDLE, STATE (a step has begun already), CALLBACK and INVALID_ARGUMENT (from the callback of a
 *   schedule), DEVICE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_begin_step(htone_statistics* statistics);

/** Begins a part of a step. The time since the last call belongs to the former part; times of a part that begins
 * several times add up. Does not wait for the device: work that it has not done yet counts where it is waited for.
 *
 * @param[in] statistics borrowed.
 * @param[in] part one of htone_step_part.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no step has begun).
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_begin_part(htone_statistics* statistics, htone_step_part part);

/** Ends a step and records it. With an optimizer it waits for the device, and reads the outcome of its last step.
 *
 * @param[in] statistics borrowed.
 * @param[in] loss of the step: not scaled, the mean if it has several batches.
 * @param[in] items that the step trained on, such as tokens, rows or images, for the rate; at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no step has begun), DEVICE, OUT_OF_MEMORY. After these errors of
 *   the record: IO (lines cannot be written; reported once, and they are tried again at the next step), CALLBACK (from
 *   the callback of spikes), all else was done, and the step counts.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_end_step(htone_statistics* statistics, double loss, int64_t items);

/** Drops a step that has begun, as after an error within it: the next one gets its number. Does nothing outside of a
 * step.
 *
 * @param[in] statistics borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_cancel_step(htone_statistics* statistics);

/** Adds an evaluation of the model to the file, after the lines of the last step. Does nothing without a file.
 *
 * @param[in] statistics borrowed.
 * @param[in] loss of the model on the data that it was evaluated on.
 * @errors INVALID_HANDLE, IO (reported once, as by htone_statistics_end_step), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_add_evaluation(htone_statistics* statistics, double loss);

/** Adds to the file that a checkpoint was saved. Does nothing without a file.
 *
 * @param[in] statistics borrowed.
 * @errors INVALID_HANDLE, IO (reported once, as by htone_statistics_end_step), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_add_checkpoint(htone_statistics* statistics);

/** Adds to the file that a module computes in another precision from now on. Does nothing without a file.
 *
 * @param[in] statistics borrowed.
 * @param[in] module its path: UTF-8 without control characters.
 * @param[in] before the former precision, such as "mxfp8"; text as module.
 * @param[in] after the new one, such as "bf16"; text as module.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO (reported once, as by htone_statistics_end_step), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_statistics_add_fallback(htone_statistics* statistics, const char* module,
                                                     const char* before, const char* after);

#ifdef __cplusplus
}
#endif

#endif
