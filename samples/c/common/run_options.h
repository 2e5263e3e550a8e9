/* The flags for the log of a run and for saving and resuming it. Every sample has them. */
#ifndef SAMPLES_RUN_OPTIONS_H
#define SAMPLES_RUN_OPTIONS_H

#include "flags.h"

typedef struct run_options {
  const char* log;        /* NULL: none */
  const char* checkpoint; /* a directory; NULL: none */
  int64_t checkpoint_every;
  bool resume; /* from the newest checkpoint, if there is one */
} run_options;

/* The flags; flags_parse stores their values in *out. */
flag_table run_options_flags(run_options* out);

/* Call this after flags_parse: prints one line and returns false if the flags contradict each other. */
bool run_options_are_consistent(const run_options* options);

#endif
