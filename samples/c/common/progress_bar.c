#define _POSIX_C_SOURCE 200809L
#include "progress_bar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "stopwatch.h"

enum {
  kAccuracyInterval = 5,
  kLineInterval = 100,
  kDefaultColumns = 80,
  kMinBar = 5,
  kMaxBar = 30,
  kTextCapacity = 256
};

static const double kDrawInterval = 0.1; /* seconds */

/* The smallest weight of the newest value in a running mean; the first values have equal weights. */
static const double kNewest = 0.05;

static bool is_terminal(void) {
  const char* kind = getenv("TERM");
  return isatty(STDOUT_FILENO) && kind != NULL && strcmp(kind, "dumb") != 0;
}

static int terminal_columns(void) {
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultColumns;
}

/* Describes the state, most important part first, because a narrow terminal cuts off the end. */
static void describe(const progress_bar* bar, char text[kTextCapacity]) {
  const double elapsed = seconds_now() - bar->started;
  const double steps_per_second = elapsed > 0 ? (double)bar->step / elapsed : 0;
  const int64_t left = bar->total_steps - bar->step;
  const int64_t eta = steps_per_second > 0 ? (int64_t)((double)left / steps_per_second + 0.5) : 0;
  const int64_t epochs = (bar->total_steps + bar->steps_per_epoch - 1) / bar->steps_per_epoch;
  char accuracy[32] = "";
  if (bar->has_accuracy) snprintf(accuracy, sizeof accuracy, " accuracy %.3f", bar->accuracy);
  snprintf(text, kTextCapacity, "epoch %lld/%lld step %lld/%lld loss %.4f%s %.0f %s/s ETA %lld:%02lld:%02lld",
           (long long)((bar->step - 1) / bar->steps_per_epoch + 1), (long long)epochs, (long long)bar->step,
           (long long)bar->total_steps, bar->loss, accuracy, steps_per_second * (double)bar->items_per_step, bar->items,
           (long long)(eta / 3600), (long long)(eta / 60 % 60), (long long)(eta % 60));
}

/* Leaves the last column free, because terminals wrap lines differently. */
static void draw(const progress_bar* bar) {
  char text[kTextCapacity];
  describe(bar, text);
  const int columns = terminal_columns() - 1;
  int room = columns - (int)strlen(text) - 3;
  if (room > kMaxBar) room = kMaxBar;
  fputc('\r', stdout);
  if (room >= kMinBar) {
    const int filled = (int)(bar->step * room / bar->total_steps);
    printf("[%.*s%.*s] ", filled, "##############################", room - filled, "..............................");
  }
  printf("%.*s\x1b[K", columns, text);
  fflush(stdout);
}

static void erase(const progress_bar* bar) {
  if (bar->terminal) fputs("\r\x1b[K", stdout);
}

static void print_lasting(const progress_bar* bar) {
  char text[kTextCapacity];
  describe(bar, text);
  erase(bar);
  puts(text);
  fflush(stdout);
}

static double running_mean(double mean, double newest, int64_t count_before) {
  const double share = 1.0 / (double)(count_before + 1);
  return mean + (share > kNewest ? share : kNewest) * (newest - mean);
}

void progress_bar_begin(progress_bar* bar, int64_t total_steps, int64_t steps_per_epoch, int64_t items_per_step,
                        const char* items) {
  const double now = seconds_now();
  *bar = (progress_bar){.total_steps = total_steps,
                        .steps_per_epoch = steps_per_epoch,
                        .items_per_step = items_per_step,
                        .items = items,
                        .terminal = is_terminal(),
                        .started = now,
                        .drawn = now};
}

bool progress_bar_wants_accuracy(const progress_bar* bar) { return bar->step % kAccuracyInterval == 0; }

void progress_bar_take_accuracy(progress_bar* bar, double accuracy) {
  bar->has_accuracy = true;
  bar->accuracy = running_mean(bar->accuracy, accuracy, bar->step / kAccuracyInterval);
}

void progress_bar_take_step(progress_bar* bar, double loss) {
  bar->loss = running_mean(bar->loss, loss, bar->step);
  ++bar->step;
  const bool ends_epoch = bar->step % bar->steps_per_epoch == 0 || bar->step == bar->total_steps;
  const double now = seconds_now();
  if (ends_epoch || (!bar->terminal && bar->step % kLineInterval == 0)) {
    print_lasting(bar);
  } else if (bar->terminal && now - bar->drawn >= kDrawInterval) {
    bar->drawn = now;
    draw(bar);
  }
}

void progress_bar_end(progress_bar* bar) {
  erase(bar);
  fflush(stdout);
}
