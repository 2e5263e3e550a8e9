/* The flags of the sample that trains on Fashion-MNIST. */
#ifndef SAMPLES_FASHION_OPTIONS_H
#define SAMPLES_FASHION_OPTIONS_H

#include "run_options.h"
#include "train_options.h"

typedef struct fashion_options {
  bool cnn; /* true: a convolutional network; false: only linear layers */
  int64_t epochs;
  int64_t batch;
  const char* data;
  train_options train;
  run_options run;
} fashion_options;

/* Reads the command line, as flags_parse does. */
bool fashion_options_parse(int argc, char** argv, const char* summary, fashion_options* out, int* out_exit_status);

#endif
