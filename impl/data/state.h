// A sampler's state as a state dict, and back: where it stands, and what it must agree in for that to mean the same.
#pragma once

#include "data/sampler.h"
#include "tensor/state_dict.h"

namespace halftone::data {

StateDict state_of(const Sampler& sampler);
// Throws FORMAT where the state is of other data, batches or seed. REQUIRES: the sampler lives until the load.
StagedLoad stage_state(Sampler& sampler, const StateDict& state);

}  // namespace halftone::data
