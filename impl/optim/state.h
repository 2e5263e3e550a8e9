// An optimizer's and a gradient scaler's state as state dicts, and back. Weights are not among them: they are the
// modules'. REQUIRES of stage_state: the object lives until the load.
#pragma once

#include "optim/grad_scaler.h"
#include "optim/optimizer.h"
#include "tensor/state_dict.h"

namespace halftone::optim {

// Throws STATE between unscale and step.
StateDict state_of(const Optimizer& optimizer);
// Throws FORMAT where the state is of another kind of optimizer, other groups, parameters or storage.
StagedLoad stage_state(Optimizer& optimizer, const StateDict& state);

// Throws STATE where the scaler waits for its update.
StateDict state_of(const GradScaler& scaler);
// Throws FORMAT for values that no scaler can have.
StagedLoad stage_state(GradScaler& scaler, const StateDict& state);

}  // namespace halftone::optim
