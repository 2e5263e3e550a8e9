/* The log of a training run: one JSON object per line, one line per step. Its lines are complete whenever the program
 * ends. One thread. */
#ifndef SAMPLES_TRAIN_LOG_H
#define SAMPLES_TRAIN_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct train_record {
  int64_t step; /* from 1 */
  double loss;  /* of this step's batch, before the update; an FP32 value */
  double lr;    /* used by the update */
  double loss_scale;
  const char* outcome; /* "stepped" */
  double grad_norm;    /* Euclidean norm of all gradients together */
  double items_per_second;
} train_record;

typedef struct train_log {
  const char* path;
  FILE* file; /* NULL if no log was requested: then writing and closing do nothing */
} train_log;

/* Opens the log. Keeps the lines of the first steps_done steps of an existing file and removes the rest. A NULL `path`
 * means no log. Like the other two functions, it prints one line and returns false on failure. */
bool train_log_open(train_log* log, const char* path, int64_t steps_done);

bool train_log_write(train_log* log, const train_record* record);

bool train_log_close(train_log* log);

#endif
