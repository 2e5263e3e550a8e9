/* The flags about the log of a run, and about saving and resuming it: every sample takes them. */
#ifndef SAMPLES_RUN_OPTIONS_H
#define SAMPLES_RUN_OPTIONS_H

#include "flags.h"

typedef struct run_options {
  const char* log;        /* NULL: none */
  const char* checkpoint; /* a directory; NULL: none */
  int64_t checkpoint_every;
  bool resume; /* from the newest checkpoint, where there is one */
} run_options;

/* The flags, for flags_parse to set *out. */
flag_table run_options_flags(run_options* out);

/* For after flags_parse: prints one line and answers false where the flags do not go together. */
bool run_options_are_consistent(const run_options* options);

#endif
