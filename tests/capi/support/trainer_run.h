/* A small classification to train, with dropout, running statistics and gradients that overflow FP16 at first: by a
 * trainer, and by a loop of the test that makes the same calls itself. Two runs of one kind are bitwise equal. A run
 * owns its handles. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_TRAINER_RUN_H
#define HALFTONE_TESTS_CAPI_TRAINER_RUN_H

#include "run_tests.h"

enum { kTrainerSteps = 50 };

typedef struct TrainerRun {
  htone_context* context;
  htone_device* device;
  htone_module* model;
  htone_batches* batches;    /* shuffled */
  htone_batches* evaluation; /* of other samples */
  htone_sampler* sampler;
  htone_trainer* trainer;
  htone_trainer_phase phase; /* of the last turn */
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  int64_t skipped; /* steps */
} TrainerRun;

/* 50 steps of two batches with a warm-up, a cosine and a clip. */
htone_trainer_options trainer_options(const char* precision);

/* Makes model and data, without a trainer. */
void begin_trainer_data(TrainerRun* run);
/* With a trainer. */
void begin_trainer_run(TrainerRun* run, const htone_trainer_options* options);
void end_trainer_run(TrainerRun* run);

/* The loss of a batch, under the modes of the thread. */
htone_status trainer_loss(TrainerRun* run, htone_tensor* x, htone_tensor* labels, htone_tensor** out);
/* One turn of the loop: the phase, and the loss if there is a batch. */
htone_status turn_trainer(TrainerRun* run);
/* Turns until the end, or until so many steps are done. */
void turn_trainer_to(TrainerRun* run, int64_t step);

/* Trains without a trainer. */
void train_by_hand(TrainerRun* run, const htone_trainer_options* options);

/* A number that changes with any bit of weights, buffers and loss scale, and with the count of updates. */
uint64_t trainer_fingerprint(TrainerRun* run);
htone_trainer_progress progress_of(const TrainerRun* run);

#endif
