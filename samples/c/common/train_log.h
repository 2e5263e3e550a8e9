/* The log of a training run: one JSON object a line, one line a step. Lines are complete whenever the program ends. One
 * thread.
 */
#ifndef SAMPLES_TRAIN_LOG_H
#define SAMPLES_TRAIN_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct train_record {
  int64_t step; /* from 1 */
  double loss;  /* of this step's batch, before the update; an FP32 value */
  double lr;    /* that the update used */
  double loss_scale;
  const char* outcome; /* "stepped" */
  double grad_norm;    /* Euclidean, of all gradients together */
  double items_per_second;
} train_record;

typedef struct train_log {
  const char* path;
  FILE* file; /* NULL where no log was asked for: writing and closing then do nothing */
} train_log;

/* Keeps the lines of the first steps_done steps of a file that is there, and nothing of any other; `path` NULL asks for
 * no log. As all three, prints one line and answers false on failure. */
bool train_log_open(train_log* log, const char* path, int64_t steps_done);

bool train_log_write(train_log* log, const train_record* record);

bool train_log_close(train_log* log);

#endif
