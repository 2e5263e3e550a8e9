/* The parts of a training run that do not depend on the model and its data: the device, AdamW with a schedule, the
 * gradient scaler, the log, the checkpoints, and the end of the program. One thread. As in all samples, functions print
 * one line and return false on failure. */
#ifndef SAMPLES_TRAINER_H
#define SAMPLES_TRAINER_H

#include "flags.h"
#include "ranks.h"

/* The values of the flags that every training sample has. */
typedef struct train_options {
  int precision; /* in the order of --help; see trainer.precision */
  const char* device;
  int64_t epochs; /* of a flag that each sample declares, as `batch` */
  int64_t batch;  /* samples in a batch of all processes together */
  int64_t steps;  /* limit on the steps of all epochs together */
  double lr;
  int schedule;
  int64_t seed;
  int64_t threads;        /* 0: as many as the machine allows */
  int sharding;           /* sharding_kind */
  const char* log;        /* NULL: none */
  int64_t monitor;        /* steps from one sample of all tensors to the next; 0: none */
  const char* checkpoint; /* a directory; NULL: none */
  int64_t checkpoint_every;
  bool resume; /* from the newest checkpoint, if there is one */
} train_options;

typedef struct trainer {
  train_options options;
  htone_dtype precision; /* dtype of weights and activations outside of recipes */
  const char* items;     /* the name of what a step trains on, such as "images"; set by the program */
  const char* unit_kind; /* of the modules whose weights processes share one by one; set by the program */
  double max_grad_norm;  /* limit on the norm of all gradients together; set by the program; 0: none */
  int64_t warmup_steps;  /* in which the learning rate climbs; set by the program before trainer_build */

  htone_scope* objects; /* owns the handles that follow, and the program's others */
  htone_context* context;
  htone_device* device;
  htone_sampler* sampler; /* of the training data; set by the program */
  htone_module* model;    /* set by the program */
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler; /* does nothing except in FP16 */
  htone_checkpoint* checkpoint;
  ranks ranks;
  htone_statistics* log; /* of the first process, if there is one; else NULL */

  int64_t steps_per_epoch;
  int64_t total_steps;
  int64_t first_step; /* steps that were done before this run */
  int64_t steps_done;
  int64_t sent;     /* bytes to other processes before the first step */
  int stop_signal;  /* that this or another process has received by the end of the last step; 0: none */
  int exit_status;  /* of the program if a function returns false */
  double step_end;  /* seconds_now() at the end of the last step */
  double line_end;  /* and when the last line of progress was printed */
  double line_loss; /* sum of the losses since then */
  int64_t line_steps;
} trainer;

/* Reads the command line: the program's flags and the common ones. Returns as flags_parse does. */
bool trainer_parse(trainer* t, const char* summary, const flag* flags, size_t flag_count, int argc, char** argv,
                   int* out_exit_status);

/* Prints "FLAG 'VALUE': expected EXPECTED" and returns false; the program will end with kExitUsage. */
bool trainer_refuse(trainer* t, const char* flag_name, int64_t value, const char* expected);

/* Begins the scope of the program's objects and opens the device. */
bool trainer_begin(trainer* t);

/* Joins the processes that train together; their number divides the batch. */
bool trainer_join(trainer* t);

/* Returns settings for the sampler of the training data, of which each process takes its part. */
htone_sampler_options trainer_sampling(const trainer* t, int64_t count);

/* Counts the steps of the run. A step takes `accumulate` batches of t->sampler. */
bool trainer_count_steps(trainer* t, int64_t accumulate);

/* Shares t->model among the processes and makes policy, optimizer and scaler. */
bool trainer_build(trainer* t);

/* Opens checkpoint and log, resumes if it was asked to, and prints one line on the run. */
bool trainer_open_files(trainer* t);

/* Returns whether a step is left and no process has received a signal. */
bool trainer_goes_on(const trainer* t);

/* Begins a step, for the log: with the reading of its first batch. */
bool trainer_begin_step(trainer* t);

/* The time from here on is that of a part of the step, for the log. */
bool trainer_begin_part(trainer* t, htone_step_part part);

/* Adds the gradients of the loss times `share` to those that are there. */
bool trainer_backward(trainer* t, htone_tensor* loss, double share);

/* Updates the weights, unless a gradient is not finite. */
bool trainer_update(trainer* t);

/* Ends the step, which had this loss, from before the update, and `items` samples on all processes together: averages
 * the loss, writes the log, saves a checkpoint if one is due, and prints the progress now and then. */
bool trainer_end_step(trainer* t, double loss, int64_t items);

/* Ends the training. *out_finishes becomes true in the process that prints the results: it can run forwards and read
 * weights until trainer_end. */
bool trainer_begin_finish(trainer* t, bool* out_finishes);

/* Releases everything and returns the exit status of the program; `done` is false after a failure. */
int trainer_end(trainer* t, bool done);

/* Returns the seconds since a fixed moment. */
double seconds_now(void);

#endif
