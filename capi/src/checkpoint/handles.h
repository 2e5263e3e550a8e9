// Handles of checkpoints.
#pragma once

#include "base/objects.h"

struct htone_checkpoint;

namespace halftone::trainer {
class Checkpoint;  // trainer/checkpoint.h
}

namespace halftone::capi {

template <>
struct HandleTraits<htone_checkpoint> : HandleTo<Ref<trainer::Checkpoint>, HandleType::kCheckpoint> {};

}  // namespace halftone::capi
