#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"

enum { kSums = 3 };

ranks ranks_alone(void) { return (ranks){.rank = 0, .size = 1}; }

static bool silence(void) {
  if (freopen("/dev/null", "w", stdout) != NULL) return true;
  print_error("/dev/null: cannot be written: %s", strerror(errno));
  return false;
}

bool ranks_join(ranks* r, htone_device* device, bool shares) {
  const int64_t shape = kSums;
  htone_launch launch = HTONE_LAUNCH_INIT;
  *r = ranks_alone();
  if (!ok(htone_launch_read(&launch))) return false;
  if (!shares && launch.size > 1) {
    print_error("--sharding: %s started %d processes, which need --sharding ddp", launch.launcher, (int)launch.size);
    return false;
  }
  if (!shares) return true;
  r->rank = launch.rank;
  r->size = launch.size;
  return ok(htone_group_create_launched(device, NULL, &r->group)) &&
         ok(htone_tensor_create(device, HTONE_F64, 1, &shape, &r->sums)) && (r->rank == 0 || silence());
}

bool ranks_replicate(ranks* r, htone_module* model) {
  return r->group == NULL || ok(htone_ddp_create(model, r->group, NULL, &r->ddp));
}

bool ranks_accumulate_begin(ranks* r, htone_scope** out) {
  *out = NULL;
  return r->ddp == NULL || ok(htone_ddp_no_sync_begin(r->ddp, out));
}

bool ranks_agree(ranks* r, double* loss, int* signal_number) {
  double sums[kSums] = {*loss, *signal_number == SIGINT, *signal_number == SIGTERM};
  if (r->group == NULL) return true;
  if (!ok(htone_tensor_write(r->sums, HTONE_F64, sums, sizeof sums)) ||
      !ok(htone_group_all_reduce(r->group, HTONE_REDUCE_SUM, r->sums, r->sums, NULL)) ||
      !ok(htone_tensor_read(r->sums, HTONE_F64, sums, sizeof sums))) {
    return false;
  }
  *loss = sums[0] / r->size;
  *signal_number = sums[1] > 0 ? SIGINT : sums[2] > 0 ? SIGTERM : 0;
  return true;
}

void ranks_end_training(ranks* r) {
  htone_ddp_release(r->ddp);
  r->ddp = NULL;
}
