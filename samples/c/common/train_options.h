/* The flags of the samples that train on Fashion-MNIST. */
#ifndef SAMPLES_TRAIN_OPTIONS_H
#define SAMPLES_TRAIN_OPTIONS_H

#include "halftone/halftone.h"
#include "run_options.h"

typedef struct train_options {
  bool cnn;              /* true: a convolutional network; false: only linear layers */
  htone_dtype precision; /* dtype of weights and activations in matrix products */
  const char* device;
  int64_t epochs;
  int64_t steps; /* limit on the steps of all epochs together; INT64_MAX if none was given */
  int64_t batch;
  double lr;
  bool cosine; /* false: the learning rate is constant */
  uint64_t seed;
  int32_t threads; /* 0: as many as the machine allows */
  const char* data;
  run_options run;
} train_options;

/* Reads the command line, as flags_parse does. */
bool train_options_parse(int argc, char** argv, const char* summary, train_options* out, int* out_exit_status);

#endif
