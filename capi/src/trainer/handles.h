// Handles of trainers.
#pragma once

#include "base/objects.h"

struct htone_trainer;

namespace halftone::trainer {
class Trainer;  // trainer/trainer.h
}

namespace halftone::capi {

template <>
struct HandleTraits<htone_trainer> : HandleTo<Ref<trainer::Trainer>, HandleType::kTrainer> {};

}  // namespace halftone::capi
