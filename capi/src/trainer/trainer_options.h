// The checked options of a trainer. Used by the source that makes trainers.
#pragma once

#include "halftone/trainer.h"
#include "trainer/precision.h"

namespace halftone::capi {

struct CheckedTrainer {
  htone_trainer_options options;  // with `steps` above 0
  const trainer::Precision* precision;
};

// `batches_per_epoch` of the training data. Throws INVALID_ARGUMENT naming the field.
CheckedTrainer checked_trainer(const htone_trainer_options* options, int64_t batches_per_epoch);

}  // namespace halftone::capi
