// Handles of checkpoints.
#pragma once

#include "base/objects.h"

struct htone_checkpoint;

namespace halftone::resume {
class Checkpoint;  // resume/checkpoint.h
}

namespace halftone::capi {

template <>
struct HandleTraits<htone_checkpoint> : HandleTo<Ref<resume::Checkpoint>, HandleType::kCheckpoint> {};

}  // namespace halftone::capi
