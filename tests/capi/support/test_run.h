/* A small training run in 16 bits with everything that a checkpoint holds: a network, an optimizer, a gradient scaler,
 * a sampler over eight samples, averages of the weights. Two runs of one kind are bitwise equal. The run owns its
 * handles, so runs may begin and end inside a test. Main thread only. */
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

/* kRunRmsprop is centered and has momentum: three moments. */
typedef enum RunRule { kRunAdamw, kRunRmsprop, kRunAdafactor } RunRule;

/* How the run stores the weights that it trains, and by which rule; Adafactor's variances are always FP32. */
typedef struct RunKind {
  const char* name;
  htone_dtype compute_dtype;
  htone_master_storage master_storage;
  htone_dtype moment1_dtype;
  htone_dtype moment2_dtype;
  RunRule rule;
} RunKind;

/* `options` are of the context; NULL means two threads and seed 7. The context may differ from the test's. */
htone_status begin_run(Run* run, const RunKind* kind, const htone_context_options* options);
/* Like begin_run, on a device that `plugin` may serve; NULL if none is needed. */
htone_status begin_run_on(Run* run, const RunKind* kind, const htone_context_options* options, const char* plugin,
                          const char* device);
/* Runs one AMP step over the next batch. After an error the run is unchanged except for its gradients. */
htone_status train_step(Run* run);
/* Releases everything of the run, also if it was only partly begun. */
void end_run(Run* run);

/* Adds all parts of the run to a checkpoint. */
htone_status add_parts(htone_checkpoint* checkpoint, const Run* run);
/* A number that changes with any bit of any weight or average, and with the loss scale. */
uint64_t fingerprint(const Run* run);

#endif
