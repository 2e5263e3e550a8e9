/* The processes that train one network together, as --sharding asks for it: their groups, what they average and share,
 * and what they have to agree on. The first process alone prints and writes files. One thread. As in all samples,
 * functions print one line and return false on failure. */
#ifndef SAMPLES_RANKS_H
#define SAMPLES_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "halftone/halftone.h"

/* The state that the processes share. */
typedef enum sharding_kind {
  kShardingNone,      /* one process */
  kShardingDdp,       /* the batch: each process has all of the network */
  kShardingOptimizer, /* the moments, too */
  kShardingGradients, /* the gradients, too */
  kShardingFull,      /* the weights, too */
  kShardingHybrid     /* all that in groups of kHybridRanks processes, each of which has all of the network */
} sharding_kind;

/* In the order of sharding_kind. */
#define SHARDING_CHOICES "none|ddp|optimizer|gradients|full|hybrid"

enum { kHybridRanks = 2 };

typedef struct ranks {
  htone_group* group;    /* of all processes; NULL for one process without --sharding */
  htone_group* shards;   /* of the processes that have the parts of one network, maybe all; NULL without parts */
  htone_group* others;   /* of hybrid: the processes that have the same part of the other networks; else NULL */
  htone_ddp* ddp;        /* NULL before ranks_share, and if parts are shared */
  htone_fsdp* fsdp;      /* NULL before ranks_share, and unless parts are shared */
  htone_scope* gathered; /* in which all weights can be read; NULL before ranks_end_training */
  sharding_kind kind;
  int32_t rank;
  int32_t size;
} ranks;

/* Finds the other processes of the launcher. From now on all but the first print nothing but errors. With
 * kShardingNone, a launcher that started several processes is an error. */
bool ranks_join(ranks* r, htone_device* device, sharding_kind kind);

/* The processes as `real` has them, without the others, on the device "meta": to plan the memory of one of them. */
bool ranks_plan(ranks* r, htone_device* meta, const ranks* real);

/* Gives every process the first one's weights, or its part of them, and averages the gradients of each backward from
 * now on. The weights of each module of `unit_kind` are gathered together, in `dtype`. Call this before the optimizer
 * is made. */
bool ranks_share(ranks* r, htone_module* model, const char* unit_kind, htone_dtype dtype);

/* Begins a scope in which gradients stay in this process: those of all but the last backward of a step. *out is NULL
 * without a group. */
bool ranks_accumulate_begin(ranks* r, htone_scope** out);

/* Replaces the loss by its mean over the processes, and the signal, or 0, by one that any process has received. */
bool ranks_agree(ranks* r, htone_device* device, double* loss, int* signal_number);

/* Returns the bytes that this process has sent to others. */
bool ranks_read_sent(const ranks* r, int64_t* out);

/* No gradients are averaged any more. Every process calls it; afterwards each has all weights, and can run forwards
 * without the others until ranks_release_weights. */
bool ranks_end_training(ranks* r);
bool ranks_release_weights(ranks* r);

#endif
