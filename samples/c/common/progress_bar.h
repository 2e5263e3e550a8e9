/* Shows the progress of a training run. On a terminal, one line that is redrawn at most ten times a second, and one
 * permanent line per epoch. Elsewhere, permanent lines every hundred steps, without control characters. One thread. */
#ifndef SAMPLES_PROGRESS_BAR_H
#define SAMPLES_PROGRESS_BAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress_bar {
  int64_t total_steps;
  int64_t steps_per_epoch;
  int64_t items_per_step;
  const char* items; /* their name, such as "images" */
  bool terminal;
  double started; /* seconds_now() at the start and at the last drawing */
  double drawn;
  int64_t step;
  double loss;     /* running means of loss and accuracy */
  double accuracy; /* shown after the first progress_bar_take_accuracy */
  bool has_accuracy;
} progress_bar;

/* Starts the clock. Draws on standard output. `items` is kept. */
void progress_bar_begin(progress_bar* bar, int64_t total_steps, int64_t steps_per_epoch, int64_t items_per_step,
                        const char* items);

/* Returns whether to compute the accuracy of the coming step: only in one step of five, so that it costs little
 * time. */
bool progress_bar_wants_accuracy(const progress_bar* bar);

/* Adds the accuracy of a batch, in [0, 1]; call it before progress_bar_take_step. */
void progress_bar_take_accuracy(progress_bar* bar, double accuracy);

/* Adds a finished step and the loss of its batch, and may redraw the line. */
void progress_bar_take_step(progress_bar* bar, double loss);

/* Removes the line that is not permanent. */
void progress_bar_end(progress_bar* bar);

#endif
