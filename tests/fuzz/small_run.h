/* The smallest checkpoint, with one tensor: shared by the target for its index and that target's corpus. */
#ifndef HALFTONE_TESTS_FUZZ_SMALL_RUN_H
#define HALFTONE_TESTS_FUZZ_SMALL_RUN_H

#include "halftone/halftone.h"

/* The index of step 1. */
#define kSmallRunIndex "run/step-1/index.json"

typedef struct SmallRun {
  htone_tensor* tensor;
  htone_state_dict* tensors;
  htone_checkpoint* checkpoint;
} SmallRun;

SmallRun open_small_run(void);
void close_small_run(SmallRun* run);

#endif
