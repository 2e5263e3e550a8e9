#include "journal.h"

#include "stopwatch.h"

bool journal_open(journal* j, const run_options* options, const checkpoint_parts* parts) {
  if (!checkpoints_open(&j->checkpoints, options, parts, &j->steps_done) ||
      !train_log_open(&j->log, options->log, j->steps_done)) {
    return false;
  }
  j->before = seconds_now();
  return true;
}

train_record journal_begin_step(const journal* j) { return (train_record){.step = j->steps_done + 1}; }

bool journal_end_step(journal* j, train_record* record, int64_t items, bool ends) {
  ++j->steps_done;
  const double now = seconds_now();
  record->items_per_second = (double)items / (now - j->before);
  j->before = now;
  return train_log_write(&j->log, record) && checkpoints_take_step(&j->checkpoints, j->steps_done, ends);
}

bool journal_close(journal* j) {
  checkpoints_close(&j->checkpoints);
  return train_log_close(&j->log);
}
