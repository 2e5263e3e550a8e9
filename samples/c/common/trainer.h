/* The parts of a training run that do not depend on the model and its data: the device, AdamW with a schedule, the
 * gradient scaler, the journal, and the end of the program. One thread. As in all samples, functions print one line and
 * return false on failure. */
#ifndef SAMPLES_TRAINER_H
#define SAMPLES_TRAINER_H

#include "journal.h"
#include "ranks.h"
#include "train_options.h"

typedef struct trainer {
  htone_scope* objects; /* owns the handles that follow, and the program's others */
  htone_context* context;
  htone_device* device;
  htone_sampler* sampler; /* of the training data; set by the program */
  htone_module* model;    /* set by the program */
  htone_state_dict* data; /* of checkpoint_parts; set by the program, NULL if it has none */
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler; /* does nothing except in FP16 */
  journal journal;
  ranks ranks;
  int stop_signal; /* that this or another process has received by the end of the last step; 0: none */
  int64_t steps_per_epoch;
  int64_t total_steps;
  int64_t warmup_steps;  /* set by the program before trainer_build; 0: the learning rate begins at its full value */
  const char* unit_kind; /* of the modules whose weights processes share one by one, set by the program */
  double max_grad_norm;  /* limit on the norm of all gradients together, set by the program; 0: none */
  htone_dtype precision; /* of the training */
  int64_t elements;      /* of all weights */
  int64_t sent;          /* bytes to other processes before the first step */
  int64_t first_step;    /* of this program, from 0 */
  int failure_status;    /* exit status of the program if a function returns false */
} trainer;

/* Prints "FLAG 'VALUE': expected EXPECTED" and returns false; the program will end with kExitUsage. */
bool trainer_refuse(trainer* t, const char* flag_name, const char* value, const char* expected);
bool trainer_refuse_count(trainer* t, const char* flag_name, int64_t value, const char* expected);

/* Begins the scope of the program's objects and opens the device; *t is zero-initialised. */
bool trainer_begin(trainer* t, const train_options* options);

/* Joins the processes that train together; t->ranks.size divides the batch. */
bool trainer_join_ranks(trainer* t, const train_options* options, int64_t batch);

/* Settings for the sampler of the training data, of which each process takes its part. */
htone_sampler_options trainer_sampling(const trainer* t, const train_options* options);

/* Counts the steps of so many epochs. A step takes `accumulate` batches of t->sampler. */
bool trainer_count_steps(trainer* t, const train_options* options, int64_t epochs, int64_t accumulate);

/* Makes policy, optimizer and scaler for t->model. */
/* Shares the model among the processes. */
bool trainer_share(trainer* t, const train_options* options);
bool trainer_build_update(trainer* t, const train_options* options);

/* Does so too, after every process has the same weights or its part of them; opens the journal, and prints one line on
 * the run. */
bool trainer_build(trainer* t, const train_options* options, const run_options* run);

/* Returns whether a step is left and no process has received a signal. */
bool trainer_goes_on(const trainer* t);

/* Adds the gradients of the loss times `share` to those that are there. */
bool trainer_backward(trainer* t, htone_tensor* loss, double share);

/* Updates the weights, unless a gradient is not finite, and completes the record except for its loss. */
bool trainer_update(trainer* t, train_record* record);

/* Records the step, which had `items` samples on all processes together. The record's loss becomes that of all. */
bool trainer_end_step(trainer* t, train_record* record, int64_t items);

/* Ends the training. *out_finishes tells if this process does what one does alone now, such as printing results. Until
 * trainer_end it can run forwards and read weights. */
bool trainer_begin_finish(trainer* t, bool* out_finishes);

/* Releases everything and returns the exit status of the program; `done` tells if it succeeded so far. */
int trainer_end(trainer* t, bool done);

#endif
