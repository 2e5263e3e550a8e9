/* The flags that every training sample takes. */
#ifndef SAMPLES_TRAIN_OPTIONS_H
#define SAMPLES_TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "halftone/halftone.h"

typedef struct train_options {
  bool cnn;              /* a network of convolutions, else of linear layers alone */
  htone_dtype precision; /* in which matrix products read weights and activations: HTONE_F32 or HTONE_BF16 */
  const char* device;
  int64_t epochs;
  int64_t steps; /* bound on the steps of all epochs together; INT64_MAX where none was given */
  int64_t batch;
  double lr;
  bool cosine; /* else the learning rate is constant */
  uint64_t seed;
  int32_t threads; /* 0: as many as the machine allows */
  const char* data;
  const char* log;        /* NULL: none */
  const char* checkpoint; /* a directory; NULL: none */
  int64_t checkpoint_every;
  bool resume; /* from the newest checkpoint, where there is one */
} train_options;

enum { kExitOk = 0, kExitFailure = 1, kExitUsage = 2 };

/* Reads the command line; texts in *out point into it. Answers false where the program is to end with *out_exit_status:
 * after --help, which prints `summary` and the flags, and after a flag that cannot be, which prints one line.
 */
bool train_options_parse(int argc, char** argv, const char* summary, train_options* out, int* out_exit_status);

#endif
