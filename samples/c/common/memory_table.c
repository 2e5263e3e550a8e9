#include "memory_table.h"

#include <stdio.h>

#include "failure.h"

static double mebibytes(int64_t bytes) { return (double)bytes / (1 << 20); }

void memory_table_begin(const char* what) {
  printf("memory planned for a step, MiB:\n%-16s %10s %10s %10s %11s %10s %10s %10s\n", what, "weights", "gradients",
         "optimizer", "activations", "workspace", "other", "together");
}

void memory_table_row(const char* name, bool is_chosen, const htone_memory_stats* planned) {
  const int64_t* bytes = planned->peak_by_category;
  printf("%c %-14s %10.2f %10.2f %10.2f %11.2f %10.2f %10.2f %10.2f\n", is_chosen ? '*' : ' ', name,
         mebibytes(bytes[HTONE_MEMORY_PARAMETERS]), mebibytes(bytes[HTONE_MEMORY_GRADIENTS]),
         mebibytes(bytes[HTONE_MEMORY_OPTIMIZER]), mebibytes(bytes[HTONE_MEMORY_ACTIVATIONS]),
         mebibytes(bytes[HTONE_MEMORY_WORKSPACE]), mebibytes(bytes[HTONE_MEMORY_OTHER]), mebibytes(planned->peak));
}

bool memory_print_use(htone_device* device, int64_t planned_peak) {
  htone_memory_stats used = HTONE_MEMORY_STATS_INIT;
  if (!ok(htone_device_memory_stats(device, &used))) return false;
  printf("memory used by the steps: %.2f MiB, %.1f %% of the plan\n", mebibytes(used.peak),
         100.0 * (double)used.peak / (double)planned_peak);
  return true;
}

static void print_state_row(const char* name, int64_t weights, int64_t gradients, int64_t moments) {
  printf("%-24s %10.3f %10.3f %10.3f\n", name, mebibytes(weights), mebibytes(gradients), mebibytes(moments));
}

bool memory_print_state(htone_device* device, int64_t elements, htone_dtype precision) {
  htone_memory_stats used = HTONE_MEMORY_STATS_INIT;
  const int64_t copy = precision == HTONE_F32 ? 0 : 2; /* bytes of an element, beside the 4 of its master */
  if (!ok(htone_device_memory_stats(device, &used))) return false;
  printf("%-24s %10s %10s %10s\n", "state of training, MiB:", "weights", "gradients", "optimizer");
  print_state_row("a process without others", (4 + copy) * elements, 4 * elements, 8 * elements);
  print_state_row("this process", used.by_category[HTONE_MEMORY_PARAMETERS], used.by_category[HTONE_MEMORY_GRADIENTS],
                  used.by_category[HTONE_MEMORY_OPTIMIZER]);
  return true;
}
