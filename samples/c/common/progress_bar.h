/* How far a training run is. On a terminal one line that is drawn again at most ten times a second, and a lasting line
 * per epoch; elsewhere lasting lines every hundred steps, without control characters. One thread.
 */
#ifndef SAMPLES_PROGRESS_BAR_H
#define SAMPLES_PROGRESS_BAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress_bar {
  int64_t total_steps;
  int64_t steps_per_epoch;
  int64_t items_per_step;
  bool terminal;
  double started; /* seconds_now of the beginning and of the last drawing */
  double drawn;
  int64_t step;
  double loss; /* running means */
  double accuracy;
} progress_bar;

/* Starts the clock. Draws on standard output. */
void progress_bar_begin(progress_bar* bar, int64_t total_steps, int64_t steps_per_epoch, int64_t items_per_step);

/* Answers whether the coming step's accuracy is wanted: of one step in five, so that it costs no speed. */
bool progress_bar_wants_accuracy(const progress_bar* bar);

/* Takes in the accuracy of a batch, in [0, 1], before its step is told. */
void progress_bar_take_accuracy(progress_bar* bar, double accuracy);

/* Tells of a finished step and the loss of its batch. */
void progress_bar_take_step(progress_bar* bar, double loss);

/* Removes what is drawn and not meant to last. */
void progress_bar_end(progress_bar* bar);

#endif
