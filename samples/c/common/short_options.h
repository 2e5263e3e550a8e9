/* The flags of the samples that generate their own data. */
#ifndef SAMPLES_SHORT_OPTIONS_H
#define SAMPLES_SHORT_OPTIONS_H

#include "run_options.h"

typedef struct short_options {
  int64_t steps;
  run_options run;
} short_options;

/* Reads the command line, as flags_parse does. */
bool short_options_parse(int argc, char** argv, const char* summary, short_options* out, int* out_exit_status);

#endif
