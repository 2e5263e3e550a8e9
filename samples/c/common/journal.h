/* The files that a training run writes: its log and its checkpoints. Both agree on the step at which the run continues.
 * One thread. As in all samples, functions print one line and return false on failure. */
#ifndef SAMPLES_JOURNAL_H
#define SAMPLES_JOURNAL_H

#include "checkpoints.h"
#include "train_log.h"

typedef struct journal {
  train_log log;
  checkpoints checkpoints;
  int64_t steps_done;
  double before; /* seconds_now() at the end of the last step */
} journal;

/* If the run resumes, loads the parts and truncates the log to the checkpoint's step. j->steps_done is that step, else
 * 0. */
bool journal_open(journal* j, const run_options* options, const checkpoint_parts* parts);

/* Returns a record for the step that begins now; the caller fills it in. */
train_record journal_begin_step(const journal* j);

/* Records the step that has ended, which had `items` samples. `ends` marks the last step, for which a checkpoint is
 * due. */
bool journal_end_step(journal* j, train_record* record, int64_t items, bool ends);

/* Call this once, also if journal_open failed or was never called on a zero-initialised journal. */
bool journal_close(journal* j);

#endif
