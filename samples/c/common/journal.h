/* What a training run leaves behind: its log and its checkpoints, which agree on where it goes on. One thread. As
 * everywhere in the samples, functions print one line and answer false on failure.
 */
#ifndef SAMPLES_JOURNAL_H
#define SAMPLES_JOURNAL_H

#include "checkpoints.h"
#include "train_log.h"

typedef struct journal {
  train_log log;
  checkpoints checkpoints;
  int64_t steps_done;
  double before; /* seconds_now() when the last step ended */
} journal;

/* Where the run resumes, loads the parts and cuts the log back to the checkpoint's step: j->steps_done is that step,
 * else 0. */
bool journal_open(journal* j, const run_options* options, const checkpoint_parts* parts);

/* The record of the step that begins now, to be filled in. */
train_record journal_begin_step(const journal* j);

/* Takes the step that has ended, of `items` samples; where `ends` says that it is the last one, a checkpoint is due. */
bool journal_end_step(journal* j, train_record* record, int64_t items, bool ends);

/* Once, also where journal_open failed or was never called on a journal that is all zeros. */
bool journal_close(journal* j);

#endif
