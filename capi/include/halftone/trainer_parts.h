/** @file
 * The parts of a trainer (trainer.h): its progress, and the objects that a program uses besides, or puts in their
 * place before the first htone_trainer_next.
 *
 * @code
 * htone_optimizer_options sgd = HTONE_SGD_OPTIONS_INIT;
 * htone_trainer_progress progress = HTONE_TRAINER_PROGRESS_INIT;
 * htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
 * htone_sampler* sampler;
 * htone_batches* batches;
 * htone_trainer* trainer;
 * sampling.count = 2; // the rows of x
 * sampling.batch_size = 1;
 * check(htone_sampler_create(&sampling, &sampler));
 * check(htone_batches_create(sampler, 1, &x, &batches));
 * check(htone_trainer_create(model, batches, NULL, &trainer));
 * sgd.compute_dtype = HTONE_BF16; // that of the trainer's policy
 * check(htone_optimizer_create(model, &sgd, &optimizer));
 * check(htone_trainer_set_optimizer(trainer, optimizer));
 * check(htone_trainer_describe(trainer, &progress));
 * assert(progress.steps == 2); // one epoch
 * assert(progress.step == 0);
 * @endcode
 */
#ifndef HALFTONE_TRAINER_PARTS_H
#define HALFTONE_TRAINER_PARTS_H

#include "halftone/amp.h"
#include "halftone/checkpoint.h"
#include "halftone/comm.h"
#include "halftone/grad_scaler.h"
#include "halftone/optim.h"
#include "halftone/statistics.h"
#include "halftone/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The progress of a run. Numbers that are not known are NaN. */
typedef struct htone_trainer_progress {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_trainer_progress) */
  htone_trainer_end end;  /**< why the run has ended; HTONE_TRAINER_END_NONE if it goes on */
  int64_t step;           /**< steps done, with those before a resume and those that were skipped */
  int64_t steps;          /**< of the whole run */
  double loss;            /**< of the last step, before its update: the mean over its batches and all ranks */
  double lr;              /**< learning rate of the last step's first group */
  double loss_scale;      /**< of the last step; 1 without a gradient scaler that is enabled */
  double grad_norm;       /**< of the last step, unscaled and before clipping */
  double seconds;         /**< that the last step took, from the fetch of its first batch to the end of its update */
  int64_t items;          /**< samples of the last step on all ranks */
  double evaluation_loss; /**< of the last evaluation: the mean over its samples on all ranks */
  double best_evaluation_loss;    /**< the lowest of all evaluations */
  int64_t evaluation_step;        /**< after which the last evaluation ran; -1 if none did */
  int64_t evaluations_since_best; /**< evaluations in a row without a lower loss */
  int32_t skipped;                /**< 1 if the last step did not change the weights, since a gradient was not finite */
  uint32_t reserved;              /**< 0 */
  char parameter[256];            /**< the first parameter with such a gradient; empty if none or unknown */
} htone_trainer_progress;

/** An empty htone_trainer_progress of the right size, to initialize one where it is declared. */
#define HTONE_TRAINER_PROGRESS_INIT \
  { sizeof(htone_trainer_progress), HTONE_TRAINER_END_NONE, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0, 0, 0, 0, "" }

/** Sets struct_size and empties the other fields, as HTONE_TRAINER_PROGRESS_INIT does.
 *
 * @param[out] progress caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_trainer_progress_init(htone_trainer_progress* progress);

/** Describes the last step and the last evaluation. Does not wait for the device.
 *
 * @param[in] trainer borrowed.
 * @param[in,out] out_progress struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_describe(htone_trainer* trainer, htone_trainer_progress* out_progress);

/** Called after each step with its number, which counts from 1. It may call htone_trainer_describe. Any status except
 * HTONE_OK becomes an error of htone_trainer_take_loss; the step is done then, and the run can go on.
 */
typedef htone_status (*htone_trainer_step_fn)(int64_t step, void* user);

/** Calls a function after each step, in place of the one before.
 *
 * @param[in] trainer borrowed.
 * @param[in] callback runs on the thread that calls htone_trainer_take_loss; no lock is held.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user` when the callback is not used any more; optional. On failure it does not
 *   run.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (a batch was fetched), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_callback(htone_trainer* trainer, htone_trainer_step_fn callback, void* user,
                                                  void (*destroy)(void* user));

/** Sets the data of evaluations. Each evaluation has all batches of the first epoch, in its order.
 *
 * @param[in] trainer borrowed.
 * @param[in] batches retained; with another sampler than the training's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (the sampler is the training's), STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_evaluation(htone_trainer* trainer, htone_batches* batches);

/** Sets the ranks that train together. Losses are their means, and the trainer's checkpoints are written together.
 *
 * @param[in] trainer borrowed.
 * @param[in] group retained; that of the wrapped model, or of all ranks.
 * @errors INVALID_HANDLE, STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_group(htone_trainer* trainer, htone_group* group);

/** Sets the optimizer, with its own learning rate and schedule. The trainer adds no guard to it.
 *
 * @param[in] trainer borrowed.
 * @param[in] optimizer retained; over parameters of the model.
 * @errors INVALID_HANDLE, STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_optimizer(htone_trainer* trainer, htone_optimizer* optimizer);

/** Sets the gradient scaler.
 *
 * @param[in] trainer borrowed.
 * @param[in] scaler retained.
 * @errors INVALID_HANDLE, STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_grad_scaler(htone_trainer* trainer, htone_grad_scaler* scaler);

/** Sets the autocast policy of htone_trainer_turn_begin. Recipes of the model's own layers stay.
 *
 * @param[in] trainer borrowed.
 * @param[in] policy retained.
 * @errors INVALID_HANDLE, STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_policy(htone_trainer* trainer, htone_autocast_policy* policy);

/** Sets the checkpoint, which may hold parts of the program's own, in place of the one in options.checkpoint. The first
 * htone_trainer_next adds the trainer's parts.
 *
 * @param[in] trainer borrowed.
 * @param[in] checkpoint retained.
 * @errors INVALID_HANDLE, STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_checkpoint(htone_trainer* trainer, htone_checkpoint* checkpoint);

/** Sets the record of the run, in place of one of the trainer's own. The trainer begins and ends its steps and sets its
 * optimizer; options.log becomes its file. A record that writes a file already fits a run that begins: for one that
 * resumes, htone_trainer_next fails with STATE. With ranks, each rank that has a record writes one.
 *
 * @param[in] trainer borrowed.
 * @param[in] statistics retained.
 * @errors INVALID_HANDLE, STATE (a batch was fetched).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_set_statistics(htone_trainer* trainer, htone_statistics* statistics);

/** Returns the optimizer. The first call makes the trainer's own if none was set; it then owns the model's parameters.
 *
 * @param[in] trainer borrowed.
 * @param[out] out the optimizer; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, DTYPE_MISMATCH, STATE (the parameters have another optimizer),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_optimizer(htone_trainer* trainer, htone_optimizer** out);

/** Returns the gradient scaler.
 *
 * @param[in] trainer borrowed.
 * @param[out] out the scaler; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_grad_scaler(htone_trainer* trainer, htone_grad_scaler** out);

/** Returns the autocast policy.
 *
 * @param[in] trainer borrowed.
 * @param[out] out the policy; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_policy(htone_trainer* trainer, htone_autocast_policy** out);

#ifdef __cplusplus
}
#endif

#endif
