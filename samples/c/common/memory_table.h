/* Prints how much memory training needs: planned on the device "meta", in a table, and used, beside the plan. */
#ifndef SAMPLES_MEMORY_TABLE_H
#define SAMPLES_MEMORY_TABLE_H

#include <stdbool.h>

#include "halftone/halftone.h"

void memory_table_begin(const char* what);

/* A row of the table; one is marked as that of the run. */
void memory_table_row(const char* name, bool is_chosen, const htone_memory_stats* planned);

/* Prints the peak since the last reset as a share of the planned one. */
bool memory_print_use(htone_device* device, int64_t planned_peak);

/* Prints what this process keeps of the state of training between two steps, and what a process that shares nothing
 * keeps for so many weights with AdamW. */
bool memory_print_state(htone_device* device, int64_t elements, htone_dtype precision);

#endif
