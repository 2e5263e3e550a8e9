// Saves and loads a sampler: its position, and the settings that must be equal for the position to mean the same.
#pragma once

#include "data/sampler.h"
#include "tensor/staged_load.h"

namespace halftone::data {

StateDict state_of(const Sampler& sampler);
// Throws FORMAT if the state is of other data, batches or seed. REQUIRES: the sampler lives until the load.
StagedLoad stage_state(Sampler& sampler, const StateDict& state);

}  // namespace halftone::data
