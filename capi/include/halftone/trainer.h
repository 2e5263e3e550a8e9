/** @file
 * Trainers: a training loop that the program turns. htone_trainer_next fetches a batch, the program computes the loss,
 * and htone_trainer_take_loss does the rest: it scales the loss, runs backward, clips, steps, moves the learning rate
 * and the loss scale. Accumulation, evaluations, checkpoints, early stop and the return after an interruption are part
 * of the loop. docs/trainer.md has complete programs.
 *
 * @code
 * htone_trainer_options options = HTONE_TRAINER_OPTIONS_INIT;
 * htone_sampler_options sampling = HTONE_SAMPLER_OPTIONS_INIT;
 * htone_sampler* sampler;
 * htone_batches* batches;
 * htone_trainer* trainer;
 * htone_trainer_phase phase;
 * sampling.count = 2; // the rows of x
 * sampling.batch_size = 1;
 * check(htone_sampler_create(&sampling, &sampler));
 * check(htone_batches_create(sampler, 1, &x, &batches));
 * options.precision = "bf16";
 * options.steps = 10;
 * check(htone_trainer_create(model, batches, &options, &trainer));
 * for (check(htone_trainer_next(trainer, &phase)); phase != HTONE_TRAINER_DONE;
 *      check(htone_trainer_next(trainer, &phase))) {
 *   htone_scope *handles, *turn;
 *   check(htone_handles_begin(&handles)); // of this batch
 *   check(htone_trainer_turn_begin(trainer, &turn)); // autocast
 *   check(htone_trainer_tensor(trainer, 0, &y));
 *   check(htone_module_forward(model, y, NULL, &y));
 *   check(htone_mean(y, 0, NULL, 0, &loss));
 *   check(htone_trainer_take_loss(trainer, loss));
 *   check(htone_scope_end(turn));
 *   check(htone_scope_end(handles));
 * }
 * check(htone_trainer_optimizer(trainer, &optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 10);
 * @endcode
 *
 * The weights are bitwise those of a loop that makes the same calls itself: zero_grad; for each batch of a step
 * forward, the loss times 1 / accumulate, htone_grad_scaler_scale, backward; then unscale and clip_grad_norm if
 * max_grad_norm is set, htone_grad_scaler_step, htone_grad_scaler_update. The program can use every object of the
 * trainer, or replace it before the first batch (trainer_parts.h). The trainer's own optimizer is AdamW. It skips a
 * step with a gradient that is not finite, in every precision.
 *
 * Errors. If a call fails before the weights of a step have changed, such as a forward that Ctrl-C ends (interrupt.h),
 * htone_trainer_restart_step goes back to the end of the step before: position in the data, random numbers, loss scale
 * and buffers of the model are as they were then. htone_trainer_save does so too, and htone_trainer_next if it was
 * htone_trainer_take_loss that failed. After any other failure the step counts, and the run goes on with the next one.
 *
 * Ranks: wrap the model first (ddp.h, fsdp.h), give each rank its share of the batches, and give the group to
 * htone_trainer_set_group. Every rank turns its loop in the same way. Gradients are averaged after each batch of a
 * step, unless the program begins htone_ddp_no_sync_begin or htone_fsdp_no_sync_begin around
 * htone_trainer_take_loss, for all but the last batch.
 */
#ifndef HALFTONE_TRAINER_H
#define HALFTONE_TRAINER_H

#include "halftone/data.h"
#include "halftone/nn.h"
#include "halftone/scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A training loop with its objects. */
typedef struct htone_trainer htone_trainer;

/** The purpose of a batch. */
typedef enum htone_trainer_phase {
  HTONE_TRAINER_DONE = 0,                   /**< there is no batch: the run has ended */
  HTONE_TRAINER_TRAIN = 1,                  /**< a batch of a step */
  HTONE_TRAINER_EVALUATE = 2,               /**< a batch of an evaluation; the model is in evaluation mode */
  HTONE_TRAINER_PHASE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_trainer_phase;

/** Why a run has ended. */
typedef enum htone_trainer_end {
  HTONE_TRAINER_END_NONE = 0,             /**< it has not */
  HTONE_TRAINER_END_STEPS = 1,            /**< all steps are done */
  HTONE_TRAINER_END_PATIENCE = 2,         /**< too many evaluations brought no lower loss */
  HTONE_TRAINER_END_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_trainer_end;

/** The course of the learning rate after the warm-up. */
typedef enum htone_trainer_schedule {
  HTONE_TRAINER_CONSTANT = 1,                  /**< stays as it is */
  HTONE_TRAINER_COSINE = 2,                    /**< half a cosine, which ends at 0 with the last step */
  HTONE_TRAINER_SCHEDULE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_trainer_schedule;

/** Settings of htone_trainer_create. */
typedef struct htone_trainer_options {
  uint32_t struct_size;            /**< sizeof of this structure */
  htone_trainer_schedule schedule; /**< default HTONE_TRAINER_COSINE */
  const char* precision;    /**< "fp32", "bf16", "fp16", or a recipe of linear layers, which compute all else in bf16:
                                 "fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4"; default NULL: "bf16" */
  int64_t steps;            /**< of the run, with those before a resume; default 0: as many as `epochs` has */
  int64_t epochs;           /**< passes over the data, if steps is 0; default 1, at least 1 */
  double lr;                /**< learning rate; default 1e-3; finite in FP32, at least 0 */
  int64_t warmup_steps;     /**< in which the learning rate rises linearly, from lr / (warmup_steps + 1); below steps;
                                 default 0 */
  double max_grad_norm;     /**< bound on the norm of all gradients together; default 0: none */
  int64_t accumulate;       /**< batches whose gradients make one step; at least 1; default 1 */
  int64_t evaluate_every;   /**< steps from one evaluation to the next; default 0: after the last step alone */
  int64_t patience;         /**< evaluations in a row without a lower loss that end the run; default 0: none */
  const char* checkpoint;   /**< directory of checkpoints, which the end of the run is written to; default NULL:
                                 none */
  int64_t checkpoint_every; /**< steps from one checkpoint to the next; default 0: after the last step alone */
  const char* log;          /**< file of the record of the run, as JSON lines; default NULL: none */
  const char* label;        /**< of the run, in its record; default NULL: the precision */
  int64_t fallback_after; /**< overflows of a module after which it computes in a higher precision; default 0: never */
  int32_t resume;         /**< not 0: goes on from the newest checkpoint if there is one. 0: a directory with
                               checkpoints is an error. Default 0 */
  uint32_t reserved;      /**< 0 */
} htone_trainer_options;

/** The defaults, to initialize a htone_trainer_options where it is declared. */
#define HTONE_TRAINER_OPTIONS_INIT \
  { sizeof(htone_trainer_options), HTONE_TRAINER_COSINE, NULL, 0, 1, 1e-3, 0, 0.0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_trainer_options_init(htone_trainer_options* options);

/** Makes a trainer: the autocast policy of the precision, AdamW over the model's parameters that are not frozen, with a
 * schedule, and a gradient scaler, which is enabled in fp16 alone. A recipe is also set on the linear layers. The
 * optimizer is made by the first htone_trainer_next, so that the program can set its own, or wrap the model, before.
 * Nothing is read or written before that call.
 *
 * @param[in] model retained. Its mode during training is the one that it has at the first evaluation.
 * @param[in] batches retained; of training. Samples are the rows of the first tensor.
 * @param[in] options optional; NULL means the defaults: one epoch in bf16.
 * @param[out] out before the first step; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (options of a newer version), STATE (no parameters),
 *   OUT_OF_MEMORY.
 * @precision the optimizer's arithmetic is FP32, on FP32 masters.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_create(htone_module* model, htone_batches* batches,
                                            const htone_trainer_options* options, htone_trainer** out);

/** Adds a reference.
 *
 * @param[in] trainer a trainer.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_retain(htone_trainer* trainer);

/** Releases a reference. Saves nothing.
 *
 * @param[in] trainer optional; a trainer.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_trainer_release(htone_trainer* trainer);

/** Fetches the next batch: of a step, or of an evaluation that is due, which has the batches of one epoch. Between
 * steps it saves a checkpoint that is due, after the evaluation of that step. The first call opens the directory of
 * checkpoints and resumes. In an evaluation the model is in evaluation mode; afterwards modes, random numbers and
 * buffers are as before, so that evaluations leave the training bitwise unchanged.
 *
 * @param[in] trainer borrowed.
 * @param[out] out_phase the purpose of the batch; HTONE_TRAINER_DONE if the run has ended, also when called again.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (the loss of the last batch is missing, or the directory holds a run
 *   that was not to be resumed), IO, FORMAT, OUT_OF_MEMORY; those of htone_trainer_optimizer; of batches with a
 *   callback (dataset.h) also CALLBACK.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_next(htone_trainer* trainer, htone_trainer_phase* out_phase);

/** Returns one tensor of the current batch.
 *
 * @param[in] trainer borrowed.
 * @param[in] index of the tensor, as in htone_batches_tensor.
 * @param[out] out the tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (no batch was fetched), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_tensor(htone_trainer* trainer, size_t index, htone_tensor** out);

/** Begins the modes of a batch. Until the scope ends, operations of this thread run under the policy of the trainer,
 * and in an evaluation they record nothing.
 *
 * @param[in] trainer borrowed; its policy is retained until the scope ends.
 * @param[out] out the scope; owned by the caller, who ends it with htone_scope_end.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (inside another call), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_turn_begin(htone_trainer* trainer, htone_scope** out);

/** Accepts the loss of the current batch. In a step it runs backward, and after the last batch of the step it updates
 * the weights and waits for the device. In an evaluation it adds the loss to the mean, in proportion to the samples.
 *
 * @param[in] trainer borrowed.
 * @param[in] loss one element, float: the mean over the batch. In a step it was recorded. Neither scaled nor divided
 *   by `accumulate`.
 * @errors INVALID_HANDLE, STATE (no batch waits for its loss, or the loss was not recorded), SHAPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY, the errors of backward and of the optimizer's step, those of the group, CALLBACK (of the progress
 *   callback; the step is done), IO (the record cannot be written; the step is done, and the lines are tried again).
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_take_loss(htone_trainer* trainer, htone_tensor* loss);

/** Goes back to the end of the last whole step, after a failure between htone_trainer_next and htone_trainer_take_loss:
 * the batches of the step under way are fetched again. An evaluation under way begins again. Between steps it does
 * nothing.
 *
 * @param[in] trainer borrowed.
 * @errors INVALID_HANDLE, DEVICE.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_restart_step(htone_trainer* trainer);

/** Saves a checkpoint of the state at the end of the last whole step, unless there is one, after
 * htone_trainer_restart_step: for a program that ends early. The parts are "model", "optimizer", "scaler", "sampler",
 * and with evaluations "trainer".
 *
 * @param[in] trainer borrowed.
 * @errors INVALID_HANDLE, STATE (there is no directory of checkpoints), IO, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_trainer_save(htone_trainer* trainer);

#ifdef __cplusplus
}
#endif

#endif
