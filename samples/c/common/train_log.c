#define _POSIX_C_SOURCE 200809L
#include "train_log.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"

enum { kNumberCapacity = 32, kLineCapacity = 512 };

/* Enough digits to read back the exact FP32 or double. */
enum { kFloatDigits = 9, kDoubleDigits = 17 };

/* JSON has no NaN or infinity: both become null. The samples never call setlocale, so the decimal separator is a
 * point. */
static const char* number_text(double value, int digits, char* out) {
  if (isfinite(value)) {
    snprintf(out, kNumberCapacity, "%.*g", digits, value);
  } else {
    strcpy(out, "null");
  }
  return out;
}

static bool print_log_error(const train_log* log) {
  print_error("%s: the log cannot be written: %s", log->path, strerror(errno));
  return false;
}

/* The end of the lines of the first steps_done steps. */
static long end_of_steps(FILE* file, int64_t steps_done) {
  char line[kLineCapacity];
  long long step;
  long end = 0;
  while (fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL &&
         sscanf(line, "{\"step\": %lld,", &step) == 1 && step <= steps_done) {
    end = ftell(file);
  }
  return end;
}

bool train_log_open(train_log* log, const char* path, int64_t steps_done) {
  log->path = path;
  log->file = NULL;
  if (path == NULL) return true;
  if (steps_done > 0) log->file = fopen(path, "r+");
  if (log->file == NULL) log->file = fopen(path, "w");
  if (log->file == NULL) return print_log_error(log);
  const long end = steps_done > 0 ? end_of_steps(log->file, steps_done) : 0;
  return (ftruncate(fileno(log->file), end) == 0 && fseek(log->file, end, SEEK_SET) == 0) || print_log_error(log);
}

bool train_log_write(train_log* log, const train_record* record) {
  if (log->file == NULL) return true;
  char loss[kNumberCapacity], lr[kNumberCapacity], scale[kNumberCapacity], norm[kNumberCapacity], rate[kNumberCapacity];
  char line[kLineCapacity];
  snprintf(line, sizeof line,
           "{\"step\": %lld, \"loss\": %s, \"lr\": %s, \"loss_scale\": %s, \"outcome\": \"%s\", \"grad_norm\": %s, "
           "\"items_per_second\": %s}\n",
           (long long)record->step, number_text(record->loss, kFloatDigits, loss),
           number_text(record->lr, kDoubleDigits, lr), number_text(record->loss_scale, kDoubleDigits, scale),
           record->outcome, number_text(record->grad_norm, kDoubleDigits, norm),
           number_text(record->items_per_second, kFloatDigits, rate));
  /* Flushes after each line, so that a killed program leaves only complete lines. */
  return (fputs(line, log->file) >= 0 && fflush(log->file) == 0) || print_log_error(log);
}

bool train_log_close(train_log* log) {
  FILE* file = log->file;
  log->file = NULL;
  return file == NULL || fclose(file) == 0 || print_log_error(log);
}
