/* The processes that train one network together, as --sharding asks for it: their group, the averages of gradients, and
 * what they have to agree on. The first process alone prints and writes files. One thread. As in all samples, functions
 * print one line and return false on failure. */
#ifndef SAMPLES_RANKS_H
#define SAMPLES_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "halftone/halftone.h"

typedef struct ranks {
  htone_group* group; /* NULL for one process without --sharding */
  htone_ddp* ddp;     /* NULL before ranks_replicate, and without a group */
  htone_tensor* sums; /* [3], f64 */
  int32_t rank;
  int32_t size;
} ranks;

/* The only process. */
ranks ranks_alone(void);

/* Finds the other processes of the launcher. From now on all but the first print nothing but errors. Without `shares`,
 * a launcher that started several processes is an error. */
bool ranks_join(ranks* r, htone_device* device, bool shares);

/* Gives every process the first one's weights, and averages the gradients of each backward from now on. */
bool ranks_replicate(ranks* r, htone_module* model);

/* Begins a scope in which gradients stay in this process: those of all but the last backward of a step. *out is NULL
 * without a group. */
bool ranks_accumulate_begin(ranks* r, htone_scope** out);

/* Replaces the loss by its mean over the processes, and the signal, or 0, by one that any process has received. */
bool ranks_agree(ranks* r, double* loss, int* signal_number);

/* No gradients are averaged any more. */
void ranks_end_training(ranks* r);

#endif
