/* A small training run in 16 bits, with everything that a checkpoint holds: a network, AdamW, a gradient scaler and a
 * sampler over eight samples, averages of the weights. A run is the same as another of the same kind, to the bit. Handles are the run's own, so
 * that runs may come and go inside a test. Main thread only.
 */
#ifndef HALFTONE_TESTS_CAPI_TEST_RUN_H
#define HALFTONE_TESTS_CAPI_TEST_RUN_H

#include "run_tests.h"

enum { kRunParameters = 4 };

typedef struct Run {
  htone_context* context;
  htone_device* device;
  htone_module* model;
  htone_autocast_policy* policy;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_ema* ema;
  htone_sampler* sampler;
  htone_batches* batches;
} Run;

/* How the run keeps what it trains. */
typedef struct RunKind {
  const char* name;
  htone_dtype compute_dtype;
  htone_master_storage master_storage;
  htone_dtype moment1_dtype;
  htone_dtype moment2_dtype;
} RunKind;

/* `options` is of the context; NULL for two threads and seed 7. The kind's context may be another than the test's. */
htone_status begin_run(Run* run, const RunKind* kind, const htone_context_options* options);
/* One AMP step over the next batch; leaves the run as it was where it answers an error, but for gradients. */
htone_status train_step(Run* run);
/* Gives back all that the run has; a run that began only in part, too. */
void end_run(Run* run);

/* Adds all parts of the run to a checkpoint. */
htone_status add_parts(htone_checkpoint* checkpoint, const Run* run);
/* A number that differs where any weight or average does, in a bit; the loss scale counts too. */
uint64_t fingerprint(const Run* run);

#endif
