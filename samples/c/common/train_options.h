/* The flags of every sample that trains a network in a chosen precision. */
#ifndef SAMPLES_TRAIN_OPTIONS_H
#define SAMPLES_TRAIN_OPTIONS_H

#include "flags.h"
#include "halftone/halftone.h"
#include "ranks.h"

typedef struct train_options {
  htone_dtype precision; /* dtype of weights and activations in matrix products */
  const char* device;
  int64_t steps; /* limit on the steps of all epochs together; INT64_MAX if none was given */
  double lr;
  bool cosine; /* false: the learning rate is constant */
  uint64_t seed;
  int32_t threads; /* 0: as many as the machine allows */
  sharding_kind sharding;
  htone_offload offload;
  const char* offload_path;
} train_options;

/* The flags; flags_parse stores their values in *out. */
flag_table train_options_flags(train_options* out);

#endif
