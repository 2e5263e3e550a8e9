#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"

static bool silence(void) {
  if (freopen("/dev/null", "w", stdout) != NULL) return true;
  print_error("/dev/null: cannot be written: %s", strerror(errno));
  return false;
}

bool ranks_join(ranks* r, htone_device* device, sharding_kind kind) {
  htone_launch launch = HTONE_LAUNCH_INIT;
  *r = (ranks){.kind = kind, .size = 1};
  if (!ok(htone_launch_read(&launch))) return false;
  if (kind == kShardingNone && launch.size > 1) {
    print_error("--sharding: %s started %d processes, which need --sharding ddp or another kind", launch.launcher,
                (int)launch.size);
    return false;
  }
  if (kind == kShardingNone) return true;
  r->rank = launch.rank;
  r->size = launch.size;
  return ok(htone_group_create_launched(device, NULL, &r->group)) && (r->rank == 0 || silence());
}

static bool create_meta(htone_device* meta, int32_t rank, int32_t size, htone_group** out) {
  htone_group_options options = HTONE_GROUP_OPTIONS_INIT;
  options.rank = rank;
  options.size = size;
  return ok(htone_group_create(meta, "meta", NULL, &options, out));
}

bool ranks_plan(ranks* r, htone_device* meta, const ranks* real) {
  *r = (ranks){.kind = real->kind, .rank = real->rank, .size = real->size};
  if (real->kind == kShardingNone) return true;
  if (!create_meta(meta, real->rank, real->size, &r->group) || real->kind != kShardingHybrid) return r->group != NULL;
  return create_meta(meta, real->rank % kHybridRanks, kHybridRanks, &r->shards) &&
         create_meta(meta, real->rank / kHybridRanks, real->size / kHybridRanks, &r->others);
}

/* Neighbours share one network: they are on one machine, where messages cost least. */
static bool split_group(ranks* r) {
  if (r->shards != NULL) return true; /* those of a plan */
  r->shards = r->group;
  if (r->kind != kShardingHybrid) return true;
  return ok(htone_group_split(r->group, r->rank / kHybridRanks, r->rank, &r->shards)) &&
         ok(htone_group_split(r->group, r->rank % kHybridRanks, r->rank, &r->others));
}

bool ranks_share(ranks* r, htone_module* model, const char* unit_kind, htone_dtype dtype) {
  htone_fsdp_options options = HTONE_FSDP_OPTIONS_INIT;
  if (r->kind == kShardingNone) return true;
  if (r->kind == kShardingDdp) return ok(htone_ddp_create(model, r->group, NULL, &r->ddp));
  if (r->kind == kShardingOptimizer) options.sharding = HTONE_SHARDING_OPTIMIZER;
  if (r->kind == kShardingGradients) options.sharding = HTONE_SHARDING_GRADIENTS;
  options.unit_kind = unit_kind;
  options.unit_elements = 1; /* a small network has small units */
  options.weight_dtype = dtype;
  return split_group(r) && ok(htone_fsdp_create(model, r->shards, r->others, &options, &r->fsdp));
}

bool ranks_accumulate_begin(ranks* r, htone_scope** out) {
  *out = NULL;
  if (r->fsdp != NULL) return ok(htone_fsdp_no_sync_begin(r->fsdp, out));
  return r->ddp == NULL || ok(htone_ddp_no_sync_begin(r->ddp, out));
}

bool ranks_agree(ranks* r, htone_device* device, double* loss, int* signal_number) {
  double sums[] = {*loss, *signal_number == SIGINT, *signal_number == SIGTERM};
  const int64_t count = sizeof sums / sizeof sums[0];
  htone_tensor* tensor;
  if (r->group == NULL) return true;
  if (!ok(htone_tensor_create_copy(device, HTONE_F64, 1, &count, sums, &tensor))) return false;
  const bool done = ok(htone_group_all_reduce(r->group, HTONE_REDUCE_SUM, tensor, tensor, NULL)) &&
                    ok(htone_tensor_read(tensor, HTONE_F64, sums, sizeof sums));
  htone_tensor_release(tensor);
  if (!done) return false;
  *loss = sums[0] / r->size;
  *signal_number = sums[1] > 0 ? SIGINT : sums[2] > 0 ? SIGTERM : 0;
  return true;
}

bool ranks_read_sent(const ranks* r, int64_t* out) {
  htone_group* const groups[] = {r->group, r->kind == kShardingHybrid ? r->shards : NULL, r->others};
  *out = 0;
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i) {
    htone_group_counters counters = HTONE_GROUP_COUNTERS_INIT;
    if (groups[i] == NULL) continue;
    if (!ok(htone_group_read_counters(groups[i], &counters))) return false;
    *out += counters.bytes_sent;
  }
  return true;
}

bool ranks_end_training(ranks* r) {
  htone_ddp_release(r->ddp);
  r->ddp = NULL;
  return r->fsdp == NULL || ok(htone_fsdp_gather_begin(r->fsdp, &r->gathered));
}

bool ranks_release_weights(ranks* r) {
  htone_scope* gathered = r->gathered;
  r->gathered = NULL;
  return gathered == NULL || ok(htone_scope_end(gathered));
}
