/* The smallest checkpoint, of one tensor: what the target of its index and the corpus for it have in common. */
#ifndef HALFTONE_TESTS_FUZZ_SMALL_RUN_H
#define HALFTONE_TESTS_FUZZ_SMALL_RUN_H

#include "halftone/halftone.h"

/* Of step 1. */
#define kSmallRunIndex "run/step-1/index.json"

typedef struct SmallRun {
  htone_tensor* tensor;
  htone_state_dict* tensors;
  htone_checkpoint* checkpoint;
} SmallRun;

SmallRun open_small_run(void);
void close_small_run(SmallRun* run);

#endif
